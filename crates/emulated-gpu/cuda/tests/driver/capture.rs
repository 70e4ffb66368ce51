//! Stream capture: creating graphs, and the calls that are illegal meanwhile.

use std::ffi::c_void;

use crate::support::*;

const GLOBAL: u32 = 0;
pub(crate) const THREAD_LOCAL: u32 = 1;
const RELAXED: u32 = 2;

pub(crate) fn begin(stream: usize, mode: u32) {
    ok!(cuStreamBeginCapture_v2(stream, mode));
}

pub(crate) fn end(stream: usize) -> (u32, usize) {
    let mut graph = 99usize;
    let code = cu!(cuStreamEndCapture(stream, &raw mut graph));
    (code, graph)
}

fn status(stream: usize) -> u32 {
    let mut status = 9u32;
    ok!(cuStreamIsCapturing(stream, &raw mut status));
    status
}

pub(crate) fn instantiate(graph: usize) -> usize {
    output!(cuGraphInstantiateWithFlags(-> usize, graph, 0u64))
}

pub(crate) fn nodes(graph: usize) -> Vec<usize> {
    let mut count = 0usize;
    let none = std::ptr::null_mut::<usize>();
    ok!(cuGraphGetNodes(graph, none, &raw mut count));
    let mut nodes = vec![0usize; count];
    ok!(cuGraphGetNodes(graph, nodes.as_mut_ptr(), &raw mut count));
    nodes
}

#[test]
fn captured_operations_run_at_each_launch() {
    let _context = own_context();
    let stream = stream(1);
    let module = module(INCREMENT);
    let increment = function(module, "increment");
    let (block, other) = (allocate(64), allocate(64));
    ok!(cuMemsetD32_v2(block, 0u32, 16usize));
    assert_eq!(status(stream), 0);
    begin(stream, THREAD_LOCAL);
    assert_eq!(status(stream), 1);
    assert_eq!(launch(increment, (1, 16), stream, &[block, 16]), 0);
    // The next work depends on the kernel.
    let (mut state, mut id, mut graph, mut count) = (9u32, 0u64, 0usize, 9usize);
    let mut last = std::ptr::null::<usize>();
    ok!(cuStreamGetCaptureInfo_v2(
        stream => usize, &raw mut state => *mut u32, &raw mut id => *mut u64,
        &raw mut graph => *mut usize, &raw mut last => *mut *const usize, &raw mut count => *mut usize,
    ));
    assert_eq!((state, count), (1, 1));
    // SAFETY: the driver's list has one node, and is valid until the next request.
    assert_eq!(nodes(graph), [unsafe { *last }]);
    ok!(cuMemcpyDtoDAsync_v2(other, block, 64usize, stream));
    ok!(cuMemsetD32Async(other, 100u32, 1usize, stream));
    let (code, graph) = end(stream);
    assert_eq!(code, 0);
    assert_eq!(status(stream), 0);
    assert_eq!(read(block, 1), [0]);
    let types: Vec<u32> = nodes(graph)
        .iter()
        .map(|node| {
            let mut node_type = 99u32;
            ok!(cuGraphNodeGetType(*node, &raw mut node_type));
            node_type
        })
        .collect();
    assert_eq!(types, [0, 1, 2]);
    let executable = instantiate(graph);
    // The executable graph doesn't need the graph.
    ok!(cuGraphDestroy(graph));
    for _ in 0..3 {
        ok!(cuGraphLaunch(executable, stream));
    }
    ok!(cuStreamSynchronize(stream));
    assert_eq!(read(block, 16), [3; 16]);
    assert_eq!(read(other, 2), [100, 3]);
    ok!(cuGraphExecDestroy(executable));
    returns!(code::INVALID_VALUE, cuGraphLaunch(executable, stream));
    returns!(code::INVALID_VALUE, cuGraphDestroy(graph));
}

#[test]
fn streams_join_a_capture_through_events() {
    let _context = own_context();
    let (first, second) = (stream(1), stream(1));
    let (fork, join) = (event(), event());
    let block = allocate(8);
    begin(first, THREAD_LOCAL);
    ok!(cuEventRecord(fork, first));
    ok!(cuStreamWaitEvent(second, fork, 0u32));
    assert_eq!(status(second), 1);
    ok!(cuMemsetD32Async(block, 1u32, 1usize, first));
    ok!(cuMemsetD32Async(block + 4, 2u32, 1usize, second));
    assert_eq!(end(second).0, code::CAPTURE_UNMATCHED);
    ok!(cuEventRecord(join, second));
    ok!(cuStreamWaitEvent(first, join, 0u32));
    let (code, graph) = end(first);
    assert_eq!((code, status(second)), (0, 0));
    let mut roots = 0usize;
    let none = std::ptr::null_mut::<usize>();
    ok!(cuGraphGetRootNodes(graph, none, &raw mut roots));
    assert_eq!((nodes(graph).len(), roots), (2, 2));
    ok!(cuGraphLaunch(instantiate(graph), first));
    ok!(cuStreamSynchronize(first));
    assert_eq!(read(block, 2), [1, 2]);
}

#[test]
fn an_unjoined_stream_fails_the_capture() {
    let _context = own_context();
    let (first, second) = (stream(1), stream(1));
    let fork = event();
    let block = allocate(4);
    begin(first, THREAD_LOCAL);
    ok!(cuEventRecord(fork, first));
    ok!(cuStreamWaitEvent(second, fork, 0u32));
    ok!(cuMemsetD32Async(block, 1u32, 1usize, second));
    assert_eq!(end(first), (code::CAPTURE_UNJOINED, 0));
    assert_eq!((status(first), status(second)), (0, 0));
}

#[test]
fn waiting_for_captured_work_is_illegal() {
    let context = context();
    let stream = stream(1);
    type Call = fn(usize) -> u32;
    let calls: [(&str, Call); 4] = [
        ("synchronise", |stream| cu!(cuStreamSynchronize(stream))),
        ("query", |stream| cu!(cuStreamQuery(stream))),
        ("context", |_| cu!(cuCtxSynchronize())),
        ("callback", |stream| {
            unsafe extern "C" fn do_nothing(_: usize, _: u32, _: *mut c_void) {}
            type Callback = unsafe extern "C" fn(usize, u32, *mut c_void);
            cu!(cuStreamAddCallback(
                stream => usize, do_nothing => Callback, std::ptr::null_mut() => *mut c_void, 0 => u32
            ))
        }),
    ];
    for (name, call) in calls {
        begin(stream, RELAXED);
        assert_eq!(call(stream), code::CAPTURE_UNSUPPORTED, "{name}");
        assert_eq!(status(stream), 2, "{name}");
        let address = allocate(4);
        returns!(code::CAPTURE_INVALIDATED, cuMemsetD32Async(
            address => u64, 0 => u32, 1 => usize, stream => usize
        ), "{name}");
        assert_eq!(end(stream), (code::CAPTURE_INVALIDATED, 0), "{name}");
        // The stream can be used again.
        ok!(cuStreamSynchronize(stream));
    }
    ok!(cuCtxDestroy_v2(context));
}

#[test]
fn unsafe_calls_depend_on_the_capture_mode() {
    let context = context();
    let stream = stream(1);
    let allocation = || {
        let mut address = 0u64;
        cu!(cuMemAlloc_v2(&raw mut address, 4usize))
    };
    begin(stream, THREAD_LOCAL);
    assert_eq!(allocation(), code::CAPTURE_UNSUPPORTED);
    assert_eq!(end(stream).0, code::CAPTURE_INVALIDATED);
    begin(stream, RELAXED);
    assert_eq!(allocation(), 0);
    assert_eq!(end(stream).0, 0);
    // Calls of other threads are allowed, unless the capture is global.
    begin(stream, THREAD_LOCAL);
    let in_other_thread = move || {
        std::thread::spawn(move || {
            ok!(cuCtxSetCurrent(context));
            let mut address = 0u64;
            cu!(cuMemAlloc_v2(&raw mut address, 4usize))
        })
        .join()
        .unwrap()
    };
    assert_eq!(in_other_thread(), 0);
    assert_eq!(end(stream).0, 0);
    // A thread can allow unsafe calls for itself.
    begin(stream, THREAD_LOCAL);
    let mut mode = RELAXED;
    ok!(cuThreadExchangeStreamCaptureMode(&raw mut mode));
    assert_eq!(mode, GLOBAL);
    assert_eq!(allocation(), 0);
    ok!(cuThreadExchangeStreamCaptureMode(&raw mut mode));
    assert_eq!(end(stream).0, 0);
    ok!(cuCtxDestroy_v2(context));
}

#[test]
fn a_global_capture_forbids_other_threads() {
    // Runs in a separate process, because the capture also forbids the calls of other tests.
    in_child!(&[]);
    let context = context();
    let stream = stream(1);
    begin(stream, GLOBAL);
    let code = std::thread::spawn(move || {
        ok!(cuCtxSetCurrent(context));
        let mut address = 0u64;
        cu!(cuMemAlloc_v2(&raw mut address, 4usize))
    });
    assert_eq!(code.join().unwrap(), code::CAPTURE_UNSUPPORTED);
    assert_eq!(end(stream).0, code::CAPTURE_INVALIDATED);
}

#[test]
fn the_legacy_stream_can_not_take_part_in_a_capture() {
    let _context = own_context();
    let (blocking, other) = (stream(0), stream(1));
    let block = allocate(4);
    returns!(code::CAPTURE_UNSUPPORTED, cuStreamBeginCapture_v2(0usize, RELAXED));
    returns!(code::INVALID_VALUE, cuStreamBeginCapture_v2(other, 7u32));
    assert_eq!(end(other).0, code::ILLEGAL_STATE);
    begin(other, RELAXED);
    returns!(code::ILLEGAL_STATE, cuStreamBeginCapture_v2(other, RELAXED));
    // A non-blocking stream isn't affected by work in the default stream.
    ok!(cuMemsetD32_v2(block, 1u32, 1usize));
    assert_eq!(end(other).0, 0);
    begin(blocking, RELAXED);
    returns!(code::CAPTURE_IMPLICIT, cuMemsetD32_v2(block, 1u32, 1usize));
    assert_eq!(end(blocking).0, code::CAPTURE_INVALIDATED);
}

#[test]
fn captures_can_not_be_mixed() {
    let _context = own_context();
    let (first, second) = (stream(1), stream(1));
    let (outside, inside) = (event(), event());
    ok!(cuEventRecord(outside, second));
    begin(first, RELAXED);
    returns!(code::CAPTURE_ISOLATION, cuStreamWaitEvent(first, outside, 0u32));
    assert_eq!(end(first).0, code::CAPTURE_INVALIDATED);
    begin(first, RELAXED);
    begin(second, RELAXED);
    ok!(cuEventRecord(inside, first));
    returns!(code::CAPTURED_EVENT, cuEventQuery(inside));
    assert_eq!(end(first).0, code::CAPTURE_INVALIDATED);
    begin(first, RELAXED);
    ok!(cuEventRecord(inside, first));
    returns!(code::CAPTURE_MERGE, cuStreamWaitEvent(second, inside, 0u32));
    let expected = (code::CAPTURE_INVALIDATED, code::CAPTURE_INVALIDATED);
    assert_eq!((end(first).0, end(second).0), expected);
    // Only the thread that began the capture may end it.
    begin(first, THREAD_LOCAL);
    let in_other_thread = std::thread::spawn(move || end(first).0);
    assert_eq!(in_other_thread.join().unwrap(), code::CAPTURE_WRONG_THREAD);
    assert_eq!(end(first).0, 0);
}

/// Tries to allocate memory, which a global capture forbids.
fn can_allocate() -> bool {
    let mut block = 0u64;
    cu!(cuMemAlloc_v2(&raw mut block, 64usize)) == 0
}

#[test]
fn destroying_the_stream_or_context_ends_a_capture() {
    // Runs in a separate process, because global captures would disturb other tests.
    in_child!(&[]);
    let context = context();
    let captured = stream(1);
    begin(captured, GLOBAL);
    assert!(!can_allocate());
    ok!(cuStreamDestroy_v2(captured));
    assert!(can_allocate(), "the stream that was captured is gone");
    begin(stream(1), GLOBAL);
    assert!(!can_allocate());
    ok!(cuCtxDestroy_v2(context));
    let mut primary = output!(cuDevicePrimaryCtxRetain(-> usize, 0 => i32));
    ok!(cuCtxSetCurrent(primary));
    assert!(can_allocate(), "the context of the capture is gone");
    begin(stream(1), GLOBAL);
    assert!(!can_allocate());
    ok!(cuDevicePrimaryCtxReset_v2(0 => i32));
    ok!(cuDevicePrimaryCtxRetain(&raw mut primary, 0 => i32));
    ok!(cuCtxSetCurrent(primary));
    assert!(can_allocate(), "the primary context has been reset");
}

/// Some threads begin captures while another thread destroys their streams or their context. Whichever comes first, no
/// capture may remain that can't be ended.
#[test]
fn captures_may_race_with_destroying_their_stream_or_context() {
    in_child!(&[]);
    context();
    for round in 0..300 {
        let mut primary = output!(cuDevicePrimaryCtxRetain(-> usize, 0 => i32));
        ok!(cuCtxSetCurrent(primary));
        let streams: Vec<usize> = (0..8).map(|_| stream(1)).collect();
        let start = std::sync::Barrier::new(2);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                start.wait();
                for &stream in &streams {
                    let _ = cu!(cuStreamBeginCapture_v2(stream, GLOBAL));
                }
            });
            start.wait();
            if round % 2 == 0 {
                ok!(cuDevicePrimaryCtxReset_v2(0 => i32));
            } else {
                for &stream in &streams {
                    let _ = cu!(cuStreamDestroy_v2(stream));
                }
            }
        });
        if round % 2 == 0 {
            ok!(cuDevicePrimaryCtxRetain(&raw mut primary, 0 => i32));
            ok!(cuCtxSetCurrent(primary));
        }
        assert!(can_allocate(), "round {round}");
        while cu!(cuDevicePrimaryCtxRelease_v2(0 => i32)) == 0 {}
    }
}

#[test]
fn modules_are_loaded_while_a_stream_is_captured() {
    let _context = own_context();
    let stream = stream(1);
    begin(stream, THREAD_LOCAL);
    // Loading is allowed, as in NVIDIA's driver since CUDA 12.3; unloading is not.
    let module = crate::support::module(INCREMENT);
    returns!(code::CAPTURE_UNSUPPORTED, cuModuleUnload(module));
    end(stream);
}
