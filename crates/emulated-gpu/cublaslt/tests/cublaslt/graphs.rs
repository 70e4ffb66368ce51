//! Test that captured work runs each time the graph is launched.

use cudarc::driver::sys::{CUgraphInstantiate_flags, CUstreamCaptureMode};

use crate::support::{Call, CublasLt, Shape, Type};

#[test]
fn an_epilogue_is_captured_and_replayed() {
    let lt = CublasLt::new();
    // SAFETY: all work is on a single stream.
    unsafe { lt.stream.context().disable_event_tracking() };
    let ty = Type::F32;
    let shape = Shape::new(ty, 2, 2);
    let a = lt.numbers(ty, &[1.0, 0.0, 0.0, 1.0]);
    let mut b = lt.numbers(ty, &[1.0, -2.0, 3.0, -4.0]);
    let (d, bias) = (lt.numbers(ty, &[0.0; 4]), lt.numbers(ty, &[0.5, 3.0]));
    lt.stream.synchronize().unwrap();
    let addresses = [lt.address(&a), lt.address(&b), lt.address(&d), lt.address(&d)];
    let call = Call { epilogue: 6, bias: lt.address(&bias), ..Call::new([shape; 4], addresses) };
    lt.stream.begin_capture(CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED).unwrap();
    assert_eq!(call.run(&lt), (0, 0));
    let flags = CUgraphInstantiate_flags::CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH;
    let graph = lt.stream.end_capture(flags).unwrap().unwrap();
    assert_eq!(lt.get_numbers(ty, &d), [0.0; 4], "nothing has run");
    graph.launch().unwrap();
    assert_eq!(lt.get_numbers(ty, &d), [1.5, 1.0, 3.5, 0.0]);
    lt.stream.memcpy_htod(&ty.bytes(&[-1.0, 0.0, 0.0, 10.0]), &mut b).unwrap();
    graph.launch().unwrap();
    assert_eq!(lt.get_numbers(ty, &d), [0.0, 3.0, 0.5, 13.0]);
}
