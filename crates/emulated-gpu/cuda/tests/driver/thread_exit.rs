//! Threads that exit: their per-thread default streams are destroyed, but pending work is still executed.

use std::cell::Cell;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

use crate::capture::THREAD_LOCAL;
use crate::support::{allocate, code, context, cu, gate, in_child, ok, pinned, read, word};

/// `CU_STREAM_PER_THREAD`
const PER_THREAD: usize = 2;
const THREADS: usize = 1000;

fn set(word: u64, value: u32) -> u32 {
    cu!(cuMemsetD32Async(word, value, 1usize, PER_THREAD))
}

/// Waits until at most `max` threads of this process are stream workers.
#[cfg(target_os = "linux")]
fn wait_for_workers(max: usize) {
    let mut left = usize::MAX;
    // A worker exits some time after its last work; a leaked one never does.
    for _ in 0..30_000 {
        let tasks = std::fs::read_dir("/proc/self/task").unwrap();
        let names =
            tasks.filter_map(|task| std::fs::read_to_string(task.ok()?.path().join("comm")).ok());
        // Linux truncates "emulated-gpu stream 7" to 15 bytes.
        left = names.filter(|name| name.trim_end() == "emulated-gpu st").count();
        if left <= max {
            return;
        }
        thread::sleep(Duration::from_millis(1));
    }
    panic!("{left} threads are stream workers, but only {max} are needed");
}

#[cfg(not(target_os = "linux"))]
fn wait_for_workers(_: usize) {}

#[test]
fn an_exiting_thread_destroys_its_stream_but_not_its_work() {
    in_child!(&[]);
    let context = context();
    let words = allocate(4 * THREADS);
    for number in 0..THREADS {
        let done = thread::spawn(move || {
            ok!(cuCtxSetCurrent(context));
            set(words + 4 * number as u64, number as u32 + 1)
        });
        assert_eq!(done.join().unwrap(), 0);
    }
    ok!(cuCtxSynchronize());
    assert_eq!(read(words, THREADS), (1..=THREADS as u32).collect::<Vec<_>>());
    // One worker is left: the worker of the legacy default stream, which did the copy.
    wait_for_workers(1);
    ok!(cuCtxDestroy_v2(context));
}

#[test]
fn work_in_flight_outlives_its_thread_and_is_waited_for() {
    in_child!(&[]);
    let context = context();
    let block = allocate(4);
    let gate = thread::spawn(move || {
        ok!(cuCtxSetCurrent(context));
        let gate = gate(PER_THREAD);
        assert_eq!(set(block, 7), 0);
        gate
    });
    let gate = gate.join().unwrap();
    gate.wait_until_reached();
    // Another thread's per-thread default stream is not blocked.
    let other = allocate(4);
    assert_eq!(set(other, 3), 0);
    ok!(cuStreamSynchronize(PER_THREAD));
    let opener = thread::spawn(move || {
        thread::sleep(Duration::from_millis(50));
        gate.open();
    });
    ok!(cuCtxSynchronize());
    assert_eq!((read(block, 1), read(other, 1)), (vec![7], vec![3]));
    opener.join().unwrap();
    wait_for_workers(2);
    ok!(cuCtxDestroy_v2(context));
}

#[test]
fn a_thread_may_exit_after_the_contexts_that_it_used() {
    in_child!(&[]);
    let user = thread::spawn(|| {
        for _ in 0..100 {
            let context = context();
            let block = allocate(4);
            assert_eq!(set(block, 1), 0);
            ok!(cuCtxDestroy_v2(context));
        }
    });
    user.join().unwrap();
    wait_for_workers(0);
}

/// A thread-local variable that uses the driver while its thread exits. It is initialised before the driver's
/// thread-local variables, so the driver's variables are already destroyed when this one is dropped.
struct DriverUserAtExit(Cell<(usize, u64)>);

impl Drop for DriverUserAtExit {
    fn drop(&mut self) {
        let (context, block) = self.0.get();
        ok!(cuCtxSetCurrent(context));
        assert_eq!(set(block, 9), 0);
        ok!(cuStreamSynchronize(PER_THREAD));
    }
}

#[test]
fn a_thread_may_use_its_stream_while_it_exits() {
    thread_local! {
        static LATE: DriverUserAtExit = const { DriverUserAtExit(Cell::new((0, 0))) };
    }
    in_child!(&[]);
    let context = context();
    let host = pinned(8);
    for _ in 0..100 {
        let user = thread::spawn(move || {
            LATE.with(|late| late.0.set((context, host + 4)));
            ok!(cuCtxSetCurrent(context));
            assert_eq!(set(host, 1), 0);
        });
        user.join().unwrap();
        ok!(cuCtxSynchronize());
        let both = [host, host + 4].map(|address| word(address).swap(0, Ordering::SeqCst));
        assert_eq!(both, [1, 9]);
    }
    wait_for_workers(1);
    ok!(cuCtxDestroy_v2(context));
}

#[test]
fn a_capture_ends_when_its_streams_thread_exits() {
    in_child!(&[]);
    let context = context();
    let begun = thread::spawn(move || {
        ok!(cuCtxSetCurrent(context));
        // CU_STREAM_CAPTURE_MODE_GLOBAL also forbids other threads' unsafe calls.
        ok!(cuStreamBeginCapture_v2(PER_THREAD, 0u32));
    });
    begun.join().unwrap();
    let block = allocate(4);
    assert_eq!(set(block, 5), 0);
    ok!(cuCtxSynchronize());
    assert_eq!(read(block, 1), [5]);
    let mut graph = 0usize;
    let ended = cu!(cuStreamEndCapture(PER_THREAD, &raw mut graph));
    assert_eq!(ended, code::ILLEGAL_STATE);
    ok!(cuStreamBeginCapture_v2(PER_THREAD, THREAD_LOCAL));
    ok!(cuStreamEndCapture(PER_THREAD, &raw mut graph));
    ok!(cuCtxDestroy_v2(context));
}
