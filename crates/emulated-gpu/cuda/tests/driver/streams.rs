//! Streams and events: ordering and waiting.

use std::ffi::c_void;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use crate::capture::{THREAD_LOCAL, begin, end, instantiate};
use crate::support::*;

type HostFunction = unsafe extern "C" fn(*mut c_void);

/// Blocks a stream until the returned sender sends.
fn block_stream(stream: usize) -> Sender<()> {
    unsafe extern "C" fn wait(data: *mut c_void) {
        // SAFETY: the pointer comes from `hold`, and is used once.
        let gate = unsafe { Box::from_raw(data.cast::<Receiver<()>>()) };
        // If the test fails, the sender is dropped, which also ends the wait.
        let _ = gate.recv_timeout(Duration::from_secs(60));
    }
    let (open, gate) = channel();
    let gate = Box::into_raw(Box::new(gate)).cast::<c_void>();
    ok!(cuLaunchHostFunc(stream, wait => HostFunction, gate));
    open
}

fn query(stream: usize) -> u32 {
    cu!(cuStreamQuery(stream))
}

#[test]
fn work_is_asynchronous_and_in_order() {
    let _context = own_context();
    let stream = stream(1);
    let module = module(INCREMENT);
    let increment = function(module, "increment");
    let block = allocate(4096);
    let open = block_stream(stream);
    ok!(cuMemsetD32Async(block, 5u32, 1024usize, stream));
    for _ in 0..10 {
        assert_eq!(launch(increment, (8, 128), stream, &[block, 1000]), 0);
    }
    assert_eq!(query(stream), code::NOT_READY);
    open.send(()).unwrap();
    ok!(cuStreamSynchronize(stream));
    assert_eq!(query(stream), 0);
    let host = read(block, 1024);
    assert_eq!((&host[..1000], &host[1000..]), (&[15; 1000][..], &[5; 24][..]));
}

#[test]
fn the_legacy_stream_waits_for_blocking_streams() {
    let _context = own_context();
    let (blocking, other) = (stream(0), stream(1));
    let open = block_stream(blocking);
    let block = allocate(4);
    // Stream 0 waits for the blocking stream; the other stream waits for nothing.
    ok!(cuMemsetD32Async(block, 1u32, 1usize, 0usize));
    assert_eq!(query(0), code::NOT_READY);
    ok!(cuStreamSynchronize(other));
    assert_eq!(query(other), 0);
    // New work in a blocking stream now waits for stream 0.
    let second = stream(0);
    ok!(cuMemsetD32Async(block, 2u32, 1usize, second));
    assert_eq!(query(second), code::NOT_READY);
    open.send(()).unwrap();
    ok!(cuStreamSynchronize(second));
    assert_eq!(read(block, 1), [2]);
    assert_eq!(query(0), 0);
}

#[test]
fn each_thread_has_a_separate_default_stream() {
    let context = context();
    let id = |stream: usize| output!(cuStreamGetId(stream, -> u64));
    let id_in_this_thread = id(2);
    assert_eq!(id(2), id_in_this_thread);
    assert_eq!(id(0), id(1));
    assert_ne!(id(0), id_in_this_thread);
    let by_name = output!(cuStreamGetId_ptsz(0usize, -> u64));
    assert_eq!(by_name, id_in_this_thread);
    let id_in_other_thread = std::thread::spawn(move || {
        ok!(cuCtxSetCurrent(context));
        output!(cuStreamGetId(2usize, -> u64))
    });
    assert_ne!(id_in_other_thread.join().unwrap(), id_in_this_thread);
    ok!(cuCtxDestroy_v2(context));
}

#[test]
fn streams_wait_for_events() {
    let _context = own_context();
    let (first, second) = (stream(1), stream(1));
    let done = event();
    let block = allocate(4);
    let open = block_stream(first);
    ok!(cuMemsetD32Async(block, 1u32, 1usize, first));
    ok!(cuEventRecord(done, first));
    ok!(cuStreamWaitEvent(second, done, 0u32));
    ok!(cuMemsetD32Async(block, 2u32, 1usize, second));
    returns!(code::NOT_READY, cuEventQuery(done));
    assert_eq!(query(second), code::NOT_READY);
    // A wait that has begun is not affected by later records of the event, nor by its destruction.
    ok!(cuEventDestroy_v2(done));
    returns!(code::INVALID_HANDLE, cuEventQuery(done));
    open.send(()).unwrap();
    ok!(cuStreamSynchronize(second));
    assert_eq!(read(block, 1), [2]);
}

#[test]
fn events_have_times() {
    let _context = own_context();
    let stream = stream(1);
    let (start, end, untimed) = (event(), event(), { output!(cuEventCreate(-> usize, 2u32)) });
    let elapsed = |start: usize, end: usize| {
        let mut time = -1.0f32;
        let code = cu!(cuEventElapsedTime(&raw mut time, start, end));
        (code, time)
    };
    assert_eq!(elapsed(start, end).0, code::INVALID_HANDLE, "never recorded");
    ok!(cuEventRecord(start, stream));
    let open = block_stream(stream);
    ok!(cuEventRecord(end, stream));
    ok!(cuEventRecord(untimed, stream));
    ok!(cuEventSynchronize(start));
    assert_eq!(elapsed(start, end).0, code::NOT_READY);
    std::thread::sleep(Duration::from_millis(20));
    open.send(()).unwrap();
    ok!(cuEventSynchronize(end));
    let (code, time) = elapsed(start, end);
    assert!(code == 0 && time >= 19.0, "{code} {time}");
    let (code, back) = elapsed(end, start);
    assert!(code == 0 && back == -time, "{back} {time}");
    assert_eq!(elapsed(start, untimed).0, code::INVALID_HANDLE, "created without timing");
    let mut created = 0usize;
    returns!(code::INVALID_VALUE, cuEventCreate(&raw mut created, 8u32));
    // There is nothing to wait for if an event was never recorded.
    let fresh = event();
    ok!(cuEventQuery(fresh));
    ok!(cuEventSynchronize(fresh));
}

#[test]
fn host_functions_may_not_call_the_driver() {
    static CODE: AtomicU32 = AtomicU32::new(0);
    unsafe extern "C" fn call(_: *mut c_void) {
        CODE.store(cu!(cuCtxSynchronize()), Ordering::SeqCst);
    }
    let _context = own_context();
    let stream = stream(0);
    ok!(cuLaunchHostFunc(stream, call => HostFunction, std::ptr::null_mut::<c_void>()));
    ok!(cuStreamSynchronize(stream));
    assert_eq!(CODE.load(Ordering::SeqCst), code::NOT_PERMITTED);
    let none = None::<HostFunction>;
    returns!(code::INVALID_VALUE, cuLaunchHostFunc(
        stream => usize, none => Option<HostFunction>, std::ptr::null_mut() => *mut c_void
    ));
}

#[test]
fn a_destroyed_stream_finishes_its_work() {
    let _context = own_context();
    let stream = stream(1);
    let block = allocate(4);
    let open = block_stream(stream);
    ok!(cuMemsetD32Async(block, 9u32, 1usize, stream));
    ok!(cuStreamDestroy_v2(stream));
    returns!(code::INVALID_HANDLE, cuStreamSynchronize(stream));
    returns!(code::INVALID_HANDLE, cuStreamDestroy_v2(stream));
    returns!(code::INVALID_HANDLE, cuStreamDestroy_v2(0usize));
    open.send(()).unwrap();
    ok!(cuCtxSynchronize());
    assert_eq!(read(block, 1), [9]);
}

#[test]
fn priorities_are_clamped() {
    let _context = own_context();
    let (mut least, mut greatest) = (9i32, 9i32);
    ok!(cuCtxGetStreamPriorityRange(&raw mut least => *mut i32, &raw mut greatest => *mut i32));
    assert_eq!((least, greatest), (0, -5));
    for (wanted, actual) in [(-3, -3), (-100, -5), (100, 0)] {
        let (mut stream, mut priority) = (0usize, 9i32);
        ok!(cuStreamCreateWithPriority(&raw mut stream, 1u32, wanted => i32));
        ok!(cuStreamGetPriority(stream, &raw mut priority => *mut i32));
        assert_eq!(priority, actual);
    }
    let mut stream = 0usize;
    returns!(code::INVALID_VALUE, cuStreamCreate(&raw mut stream, 6u32));
}

#[test]
fn a_stream_waits_for_a_value_in_memory() {
    let _context = own_context();
    let (first, second) = (stream(1), stream(1));
    let block = allocate(8);
    ok!(cuMemsetD32_v2(block, 0u32, 2usize));
    ok!(cuCtxSynchronize());
    // Waits until the value is at least 3.
    ok!(cuStreamWaitValue32_v2(first, block, 3u32, 0u32));
    ok!(cuMemsetD32Async(block + 4, 1u32, 1usize, first));
    assert_eq!(query(first), code::NOT_READY);
    ok!(cuStreamWriteValue32_v2(second, block, 4u32, 0u32));
    ok!(cuStreamSynchronize(first));
    assert_eq!(read(block, 2), [4, 1]);
    returns!(code::INVALID_VALUE, cuStreamWaitValue32_v2(first, block + 2, 3u32, 0u32));
}

#[test]
fn many_threads_use_the_driver_at_once() {
    let context = context();
    let module = module(INCREMENT);
    let increment = function(module, "increment");
    let threads: Vec<_> = (0..8)
        .map(|thread| {
            std::thread::spawn(move || {
                ok!(cuCtxSetCurrent(context));
                let stream = stream(thread % 2);
                for round in 1..=20usize {
                    let block = output!(cuMemAllocAsync(-> u64, 4 * round, stream));
                    ok!(cuMemsetD32Async(block, thread, round, stream));
                    assert_eq!(launch(increment, (1, 32), stream, &[block, round as u64]), 0);
                    let mut host = vec![0u32; round];
                    ok!(cuMemcpyDtoHAsync_v2(host.as_mut_ptr(), block, 4 * round, stream));
                    assert_eq!(host, vec![thread + 1; round]);
                    ok!(cuMemFreeAsync(block, stream));
                }
                ok!(cuStreamDestroy_v2(stream));
            })
        })
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
    ok!(cuCtxDestroy_v2(context));
}

/// The second stream is destroyed before the capture ends, as cuda.core does.
#[test]
fn a_joined_stream_may_be_destroyed() {
    let _context = own_context();
    let block = allocate(8);
    for joins in [true, false] {
        let (first, second) = (stream(1), stream(1));
        let (fork, join) = (event(), event());
        begin(first, THREAD_LOCAL);
        ok!(cuEventRecord(fork, first));
        ok!(cuStreamWaitEvent(second, fork, 0u32));
        ok!(cuMemsetD32Async(block, 1u32, 1usize, second));
        ok!(cuEventRecord(join, second));
        if joins {
            ok!(cuStreamWaitEvent(first, join, 0u32));
        }
        ok!(cuStreamDestroy_v2(second));
        ok!(cuMemsetD32Async(block + 4, 2u32, 1usize, first));
        let (code, graph) = end(first);
        assert_eq!(code, if joins { 0 } else { code::CAPTURE_UNJOINED });
        if joins {
            let executable = instantiate(graph);
            ok!(cuGraphLaunch(executable, first));
            ok!(cuStreamSynchronize(first));
            assert_eq!(read(block, 2), [1, 2]);
        }
    }
}
