//! Events that several processes have.

use std::time::{Duration, Instant};

use super::{
    Handle, LAZY, Other, close, fill, hear, hear_handle, open, share, shared_event, start, tell,
    try_open, try_open_event, try_share_event,
};
use crate::support::{allocate, code, cu, gate, gives, is_child, ok, read, stream};

fn query(event: usize) -> u32 {
    cu!(cuEventQuery(event => usize))
}

fn record(event: usize, stream: usize) {
    ok!(cuEventRecord(event => usize, stream => usize));
}

#[test]
fn an_event_orders_the_work_of_two_processes() {
    let Some(context) = start() else { return };
    let stream = stream(1);
    if is_child() {
        let (block, event) = (open(hear_handle()), try_open_event(hear_handle()));
        assert_eq!(event.0, 0);
        let event = event.1;
        assert_eq!(query(event), code::NOT_READY);
        let own = allocate(16);
        ok!(cuStreamWaitEvent(stream => usize, event => usize, 0 => u32));
        ok!(cuMemcpyDtoDAsync_v2(own => u64, block => u64, 16 => usize, stream => usize));
        gives!(code::NOT_READY, cuStreamQuery(stream => usize));
        tell("waiting");
        ok!(cuStreamSynchronize(stream => usize));
        assert_eq!((read(own, 4), query(event)), (vec![5; 4], 0));
        ok!(cuEventSynchronize(event => usize));
        // And the other way round.
        let gate = gate(stream);
        ok!(cuMemsetD32Async(block => u64, 9 => u32, 4 => usize, stream => usize));
        record(event, stream);
        tell("recorded");
        hear();
        gate.open();
        ok!(cuStreamSynchronize(stream => usize));
        hear();
        ok!(cuEventDestroy_v2(event => usize));
        assert_eq!(close(block), 0);
        return;
    }
    let (block, event) = (allocate(16), shared_event());
    assert_eq!(query(event), 0, "it was never recorded");
    let handle = share(block);
    let first = gate(stream);
    ok!(cuMemsetD32Async(block => u64, 5 => u32, 4 => usize, stream => usize));
    record(event, stream);
    let mut other = Other::start(module_path!(), "an_event_orders_the_work_of_two_processes");
    other.tell(&handle.text());
    other.tell(&try_share_event(event).1.text());
    assert_eq!((other.hear().as_str(), query(event)), ("waiting", code::NOT_READY));
    first.open();
    assert_eq!((other.hear().as_str(), query(event)), ("recorded", code::NOT_READY));
    other.tell("go on");
    ok!(cuEventSynchronize(event => usize));
    assert_eq!((read(block, 4), query(event)), (vec![9; 4], 0));
    other.tell("end");
    other.end();
    ok!(cuEventDestroy_v2(event => usize));
    ok!(cuCtxDestroy_v2(context => usize));
}

#[test]
fn a_process_that_ends_leaves_nobody_waiting() {
    let Some(context) = start() else { return };
    let stream = stream(1);
    if is_child() {
        let (block, event) = (allocate(16), shared_event());
        tell(&share(block).text());
        tell(&try_share_event(event).1.text());
        gate(stream);
        record(event, stream);
        tell("recorded");
        hear();
        std::process::exit(0);
    }
    let mut other = Other::start(module_path!(), "a_process_that_ends_leaves_nobody_waiting");
    let (block, event) = (Handle::read(&other.hear()), Handle::read(&other.hear()));
    let (code, event_here) = try_open_event(event);
    assert_eq!((code, other.hear().as_str()), (0, "recorded"));
    let address = open(block);
    fill(address, 3, 4);
    assert_eq!(query(event_here), code::NOT_READY);
    other.tell("end");
    other.end();
    assert_eq!(query(event_here), code::LAUNCH_FAILED);
    let began = Instant::now();
    gives!(code::LAUNCH_FAILED, cuEventSynchronize(event_here => usize));
    assert!(began.elapsed() < Duration::from_secs(60));
    // What is open stays, what is not is gone.
    assert_eq!(read(address, 4), [3; 4]);
    assert_eq!(close(address), 0);
    assert_eq!(
        (try_open(block, LAZY).0, try_open_event(event).0),
        (code::MAP_FAILED, code::MAP_FAILED)
    );
    // In a stream it is the context's end, as when a kernel fails.
    ok!(cuStreamWaitEvent(stream => usize, event_here => usize, 0 => u32));
    gives!(code::LAUNCH_FAILED, cuStreamSynchronize(stream => usize));
    ok!(cuCtxDestroy_v2(context => usize));
}

/// A killed process stays a zombie until its parent waits for it, which this parent doesn't.
#[cfg(target_os = "linux")]
#[test]
fn a_killed_process_that_nobody_has_waited_for_leaves_nobody_waiting() {
    let Some(context) = start() else { return };
    if is_child() {
        let event = shared_event();
        tell(&try_share_event(event).1.text());
        let stream = stream(1);
        gate(stream);
        record(event, stream);
        tell("recorded");
        hear();
        return;
    }
    let test = "a_killed_process_that_nobody_has_waited_for_leaves_nobody_waiting";
    let mut other = Other::start(module_path!(), test);
    let (code, event) = try_open_event(Handle::read(&other.hear()));
    assert_eq!((code, other.hear().as_str()), (0, "recorded"));
    assert_eq!(query(event), code::NOT_READY);
    other.kill();
    let (send, waited) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        ok!(cuCtxSetCurrent(context => usize));
        send.send(cu!(cuEventSynchronize(event => usize)))
    });
    let code = waited.recv_timeout(Duration::from_secs(60)).expect("somebody waits for ever");
    assert_eq!((code, query(event)), (code::LAUNCH_FAILED, code::LAUNCH_FAILED));
    other.reap();
    assert_eq!(query(event), code::LAUNCH_FAILED);
    ok!(cuCtxDestroy_v2(context => usize));
}
