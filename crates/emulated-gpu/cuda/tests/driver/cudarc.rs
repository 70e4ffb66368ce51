//! The driver through unmodified cudarc, as the training levels use it.

use cudarc::driver::{CudaContext, LaunchConfig, PushKernelArg, sys};
use cudarc::nvrtc::Ptx;

/// A kernel that computes `y[i] = a·x[i] + y[i]` for i < n.
const SAXPY: &str = r"
.version 7.0
.target sm_80
.address_size 64

.visible .entry saxpy(.param .u64 y, .param .u64 x, .param .f32 a, .param .u32 n)
{
    .reg .pred %p<2>;
    .reg .b32 %r<6>;
    .reg .f32 %f<5>;
    .reg .b64 %rd<8>;
    ld.param.u64 %rd1, [y];
    ld.param.u64 %rd2, [x];
    ld.param.f32 %f1, [a];
    ld.param.u32 %r1, [n];
    mov.u32 %r2, %ctaid.x;
    mov.u32 %r3, %ntid.x;
    mov.u32 %r4, %tid.x;
    mad.lo.s32 %r5, %r2, %r3, %r4;
    setp.ge.u32 %p1, %r5, %r1;
    @%p1 bra DONE;
    cvta.to.global.u64 %rd3, %rd1;
    cvta.to.global.u64 %rd4, %rd2;
    mul.wide.u32 %rd5, %r5, 4;
    add.s64 %rd6, %rd4, %rd5;
    add.s64 %rd7, %rd3, %rd5;
    ld.global.f32 %f2, [%rd6];
    ld.global.f32 %f3, [%rd7];
    fma.rn.f32 %f4, %f1, %f2, %f3;
    st.global.f32 [%rd7], %f4;
DONE:
    ret;
}
";

#[test]
fn a_kernel_runs() {
    crate::support::install();
    let context = CudaContext::new(0).unwrap();
    assert!(context.name().unwrap().starts_with("Emulated GPU ("));
    assert_eq!(context.compute_capability().unwrap(), (9, 0));
    let stream = context.new_stream().unwrap();
    let module = context.load_module(Ptx::from_src(SAXPY)).unwrap();
    let saxpy = module.load_function("saxpy").unwrap();
    let n = 1000u32;
    let x = stream.clone_htod(&(0..n).map(|i| i as f32).collect::<Vec<_>>()).unwrap();
    let mut y = stream.alloc_zeros::<f32>(n as usize).unwrap();
    let config = LaunchConfig::for_num_elems(n);
    for _ in 0..3 {
        let mut launch = stream.launch_builder(&saxpy);
        launch.arg(&mut y).arg(&x).arg(&2.0f32).arg(&n);
        // SAFETY: the arguments match the kernel's parameters, and it stays inside both buffers.
        unsafe { launch.launch(config) }.unwrap();
    }
    let host = stream.clone_dtoh(&y).unwrap();
    assert!(host.iter().enumerate().all(|(i, &y)| y == 6.0 * i as f32), "{host:?}");
}

#[test]
fn a_graph_replays_what_was_captured() {
    crate::support::install();
    let context = CudaContext::new(0).unwrap();
    // SAFETY: all work is in one stream.
    unsafe { context.disable_event_tracking() };
    let stream = context.new_stream().unwrap();
    let module = context.load_module(Ptx::from_src(SAXPY)).unwrap();
    let saxpy = module.load_function("saxpy").unwrap();
    let x = stream.clone_htod(&[1.0f32; 64]).unwrap();
    let mut y = stream.alloc_zeros::<f32>(64).unwrap();
    stream.synchronize().unwrap();
    stream.begin_capture(sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL).unwrap();
    let mut launch = stream.launch_builder(&saxpy);
    launch.arg(&mut y).arg(&x).arg(&0.5f32).arg(&64u32);
    // SAFETY: as above.
    unsafe { launch.launch(LaunchConfig::for_num_elems(64)) }.unwrap();
    let graph = stream.end_capture(sys::CUgraphInstantiate_flags(0)).unwrap().unwrap();
    assert_eq!(stream.clone_dtoh(&y).unwrap(), [0.0; 64], "capturing doesn't run the kernel");
    graph.launch().unwrap();
    graph.launch().unwrap();
    assert_eq!(stream.clone_dtoh(&y).unwrap(), [1.0; 64]);
}
