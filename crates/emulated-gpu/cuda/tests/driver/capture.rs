//! Stream capture: creating graphs, and the calls that are illegal meanwhile.

use std::ffi::c_void;

use crate::support::{
    INCREMENT, allocate, code, context, cu, event, function, in_child, launch, module, ok, output,
    own_context, read, returns, stream,
};

const GLOBAL: u32 = 0;
pub(crate) const THREAD_LOCAL: u32 = 1;
const RELAXED: u32 = 2;

pub(crate) fn begin(stream: usize, mode: u32) {
    ok!(cuStreamBeginCapture_v2(stream => usize, mode => u32));
}

pub(crate) fn end(stream: usize) -> (u32, usize) {
    let mut graph = 99usize;
    let code = cu!(cuStreamEndCapture(stream => usize, &raw mut graph => *mut usize));
    (code, graph)
}

fn status(stream: usize) -> u32 {
    let mut status = 9u32;
    ok!(cuStreamIsCapturing(stream => usize, &raw mut status => *mut u32));
    status
}

pub(crate) fn instantiate(graph: usize) -> usize {
    output!(cuGraphInstantiateWithFlags(-> usize, graph => usize, 0 => u64))
}

pub(crate) fn nodes(graph: usize) -> Vec<usize> {
    let mut count = 0usize;
    let none = std::ptr::null_mut::<usize>();
    ok!(cuGraphGetNodes(graph => usize, none => *mut usize, &raw mut count => *mut usize));
    let mut nodes = vec![0usize; count];
    ok!(cuGraphGetNodes(graph => usize, nodes.as_mut_ptr() => *mut usize, &raw mut count => *mut usize));
    nodes
}

#[test]
fn captured_operations_run_at_each_launch() {
    let _context = own_context();
    let stream = stream(1);
    let module = module(INCREMENT);
    let increment = function(module, "increment");
    let (block, other) = (allocate(64), allocate(64));
    ok!(cuMemsetD32_v2(block => u64, 0 => u32, 16 => usize));
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
    ok!(cuMemcpyDtoDAsync_v2(other => u64, block => u64, 64 => usize, stream => usize));
    ok!(cuMemsetD32Async(other => u64, 100 => u32, 1 => usize, stream => usize));
    let (code, graph) = end(stream);
    assert_eq!(code, 0);
    assert_eq!(status(stream), 0);
    assert_eq!(read(block, 1), [0]);
    let types: Vec<u32> = nodes(graph)
        .iter()
        .map(|node| {
            let mut node_type = 99u32;
            ok!(cuGraphNodeGetType(*node => usize, &raw mut node_type => *mut u32));
            node_type
        })
        .collect();
    assert_eq!(types, [0, 1, 2]);
    let executable = instantiate(graph);
    // The executable graph doesn't need the graph.
    ok!(cuGraphDestroy(graph => usize));
    for _ in 0..3 {
        ok!(cuGraphLaunch(executable => usize, stream => usize));
    }
    ok!(cuStreamSynchronize(stream => usize));
    assert_eq!(read(block, 16), [3; 16]);
    assert_eq!(read(other, 2), [100, 3]);
    ok!(cuGraphExecDestroy(executable => usize));
    returns!(code::INVALID_VALUE, cuGraphLaunch(executable => usize, stream => usize));
    returns!(code::INVALID_VALUE, cuGraphDestroy(graph => usize));
}

#[test]
fn streams_join_a_capture_through_events() {
    let _context = own_context();
    let (first, second) = (stream(1), stream(1));
    let (fork, join) = (event(), event());
    let block = allocate(8);
    begin(first, THREAD_LOCAL);
    ok!(cuEventRecord(fork => usize, first => usize));
    ok!(cuStreamWaitEvent(second => usize, fork => usize, 0 => u32));
    assert_eq!(status(second), 1);
    ok!(cuMemsetD32Async(block => u64, 1 => u32, 1 => usize, first => usize));
    ok!(cuMemsetD32Async(block + 4 => u64, 2 => u32, 1 => usize, second => usize));
    assert_eq!(end(second).0, code::CAPTURE_UNMATCHED);
    ok!(cuEventRecord(join => usize, second => usize));
    ok!(cuStreamWaitEvent(first => usize, join => usize, 0 => u32));
    let (code, graph) = end(first);
    assert_eq!((code, status(second)), (0, 0));
    let mut roots = 0usize;
    let none = std::ptr::null_mut::<usize>();
    ok!(cuGraphGetRootNodes(graph => usize, none => *mut usize, &raw mut roots => *mut usize));
    assert_eq!((nodes(graph).len(), roots), (2, 2));
    ok!(cuGraphLaunch(instantiate(graph) => usize, first => usize));
    ok!(cuStreamSynchronize(first => usize));
    assert_eq!(read(block, 2), [1, 2]);
}

#[test]
fn an_unjoined_stream_fails_the_capture() {
    let _context = own_context();
    let (first, second) = (stream(1), stream(1));
    let fork = event();
    let block = allocate(4);
    begin(first, THREAD_LOCAL);
    ok!(cuEventRecord(fork => usize, first => usize));
    ok!(cuStreamWaitEvent(second => usize, fork => usize, 0 => u32));
    ok!(cuMemsetD32Async(block => u64, 1 => u32, 1 => usize, second => usize));
    assert_eq!(end(first), (code::CAPTURE_UNJOINED, 0));
    assert_eq!((status(first), status(second)), (0, 0));
}

#[test]
fn waiting_for_captured_work_is_illegal() {
    let context = context();
    let stream = stream(1);
    type Call = fn(usize) -> u32;
    let calls: [(&str, Call); 4] = [
        ("synchronise", |stream| cu!(cuStreamSynchronize(stream => usize))),
        ("query", |stream| cu!(cuStreamQuery(stream => usize))),
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
        ok!(cuStreamSynchronize(stream => usize));
    }
    ok!(cuCtxDestroy_v2(context => usize));
}

#[test]
fn unsafe_calls_depend_on_the_capture_mode() {
    let context = context();
    let stream = stream(1);
    let allocation = || {
        let mut address = 0u64;
        cu!(cuMemAlloc_v2(&raw mut address => *mut u64, 4 => usize))
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
            ok!(cuCtxSetCurrent(context => usize));
            let mut address = 0u64;
            cu!(cuMemAlloc_v2(&raw mut address => *mut u64, 4 => usize))
        })
        .join()
        .unwrap()
    };
    assert_eq!(in_other_thread(), 0);
    assert_eq!(end(stream).0, 0);
    // A thread can allow unsafe calls for itself.
    begin(stream, THREAD_LOCAL);
    let mut mode = RELAXED;
    ok!(cuThreadExchangeStreamCaptureMode(&raw mut mode => *mut u32));
    assert_eq!(mode, GLOBAL);
    assert_eq!(allocation(), 0);
    ok!(cuThreadExchangeStreamCaptureMode(&raw mut mode => *mut u32));
    assert_eq!(end(stream).0, 0);
    ok!(cuCtxDestroy_v2(context => usize));
}

#[test]
fn a_global_capture_forbids_other_threads() {
    // Runs in a separate process, because the capture also forbids the calls of other tests.
    in_child!(&[]);
    let context = context();
    let stream = stream(1);
    begin(stream, GLOBAL);
    let code = std::thread::spawn(move || {
        ok!(cuCtxSetCurrent(context => usize));
        let mut address = 0u64;
        cu!(cuMemAlloc_v2(&raw mut address => *mut u64, 4 => usize))
    });
    assert_eq!(code.join().unwrap(), code::CAPTURE_UNSUPPORTED);
    assert_eq!(end(stream).0, code::CAPTURE_INVALIDATED);
}

#[test]
fn the_legacy_stream_can_not_take_part_in_a_capture() {
    let _context = own_context();
    let (blocking, other) = (stream(0), stream(1));
    let block = allocate(4);
    returns!(code::CAPTURE_UNSUPPORTED, cuStreamBeginCapture_v2(0 => usize, RELAXED => u32));
    returns!(code::INVALID_VALUE, cuStreamBeginCapture_v2(other => usize, 7 => u32));
    assert_eq!(end(other).0, code::ILLEGAL_STATE);
    begin(other, RELAXED);
    returns!(code::ILLEGAL_STATE, cuStreamBeginCapture_v2(other => usize, RELAXED => u32));
    // A non-blocking stream isn't affected by work in the default stream.
    ok!(cuMemsetD32_v2(block => u64, 1 => u32, 1 => usize));
    assert_eq!(end(other).0, 0);
    begin(blocking, RELAXED);
    returns!(code::CAPTURE_IMPLICIT, cuMemsetD32_v2(block => u64, 1 => u32, 1 => usize));
    assert_eq!(end(blocking).0, code::CAPTURE_INVALIDATED);
}

#[test]
fn captures_can_not_be_mixed() {
    let _context = own_context();
    let (first, second) = (stream(1), stream(1));
    let (outside, inside) = (event(), event());
    ok!(cuEventRecord(outside => usize, second => usize));
    begin(first, RELAXED);
    returns!(code::CAPTURE_ISOLATION, cuStreamWaitEvent(
        first => usize, outside => usize, 0 => u32
    ));
    assert_eq!(end(first).0, code::CAPTURE_INVALIDATED);
    begin(first, RELAXED);
    begin(second, RELAXED);
    ok!(cuEventRecord(inside => usize, first => usize));
    returns!(code::CAPTURED_EVENT, cuEventQuery(inside => usize));
    assert_eq!(end(first).0, code::CAPTURE_INVALIDATED);
    begin(first, RELAXED);
    ok!(cuEventRecord(inside => usize, first => usize));
    returns!(code::CAPTURE_MERGE, cuStreamWaitEvent(second => usize, inside => usize, 0 => u32));
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
    cu!(cuMemAlloc_v2(&raw mut block => *mut u64, 64 => usize)) == 0
}

#[test]
fn destroying_the_stream_or_context_ends_a_capture() {
    // Its global captures would disturb other tests.
    in_child!(&[]);
    let context = context();
    let captured = stream(1);
    begin(captured, GLOBAL);
    assert!(!can_allocate());
    ok!(cuStreamDestroy_v2(captured => usize));
    assert!(can_allocate(), "the stream that was captured is gone");
    begin(stream(1), GLOBAL);
    assert!(!can_allocate());
    ok!(cuCtxDestroy_v2(context => usize));
    let mut primary = 0usize;
    ok!(cuDevicePrimaryCtxRetain(&raw mut primary => *mut usize, 0 => i32));
    ok!(cuCtxSetCurrent(primary => usize));
    assert!(can_allocate(), "the context of the capture is gone");
    begin(stream(1), GLOBAL);
    assert!(!can_allocate());
    ok!(cuDevicePrimaryCtxReset_v2(0 => i32));
    ok!(cuDevicePrimaryCtxRetain(&raw mut primary => *mut usize, 0 => i32));
    ok!(cuCtxSetCurrent(primary => usize));
    assert!(can_allocate(), "the primary context has been reset");
}

/// Some threads begin captures while another one destroys their streams or their context. Whichever comes first, no
/// capture may remain that can't be ended.
#[test]
fn captures_may_race_with_destroying_their_stream_or_context() {
    in_child!(&[]);
    context();
    for round in 0..300 {
        let mut primary = 0usize;
        ok!(cuDevicePrimaryCtxRetain(&raw mut primary => *mut usize, 0 => i32));
        ok!(cuCtxSetCurrent(primary => usize));
        let streams: Vec<usize> = (0..8).map(|_| stream(1)).collect();
        let start = std::sync::Barrier::new(2);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                start.wait();
                for &stream in &streams {
                    let _ = cu!(cuStreamBeginCapture_v2(stream => usize, GLOBAL => u32));
                }
            });
            start.wait();
            if round % 2 == 0 {
                ok!(cuDevicePrimaryCtxReset_v2(0 => i32));
            } else {
                for &stream in &streams {
                    let _ = cu!(cuStreamDestroy_v2(stream => usize));
                }
            }
        });
        if round % 2 == 0 {
            ok!(cuDevicePrimaryCtxRetain(&raw mut primary => *mut usize, 0 => i32));
            ok!(cuCtxSetCurrent(primary => usize));
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
    returns!(code::CAPTURE_UNSUPPORTED, cuModuleUnload(module => usize));
    end(stream);
}
