//! Interprocess events.

use std::time::{Duration, Instant};

use super::{
    Handle, LAZY, OtherProcess, close, fill, open, receive, receive_handle, send, share,
    shared_event, start, try_open, try_open_event, try_share_event,
};
use crate::support::{allocate, code, cu, gate, is_child, ok, read, returns, stream, test_name};

fn query(event: usize) -> u32 {
    cu!(cuEventQuery(event))
}

fn record(event: usize, stream: usize) {
    ok!(cuEventRecord(event, stream));
}

#[test]
fn an_event_orders_the_work_of_two_processes() {
    let Some(context) = start() else { return };
    let stream = stream(1);
    if is_child() {
        let (block, event) = (open(receive_handle()), try_open_event(receive_handle()));
        assert_eq!(event.0, 0);
        let event = event.1;
        assert_eq!(query(event), code::NOT_READY);
        let copy = allocate(16);
        ok!(cuStreamWaitEvent(stream, event, 0u32));
        ok!(cuMemcpyDtoDAsync_v2(copy, block, 16usize, stream));
        returns!(code::NOT_READY, cuStreamQuery(stream));
        send("waiting");
        ok!(cuStreamSynchronize(stream));
        assert_eq!((read(copy, 4), query(event)), (vec![5; 4], 0));
        ok!(cuEventSynchronize(event));
        // The child records the event, and the parent waits.
        let gate = gate(stream);
        ok!(cuMemsetD32Async(block, 9u32, 4usize, stream));
        record(event, stream);
        send("recorded");
        receive();
        gate.open();
        ok!(cuStreamSynchronize(stream));
        receive();
        ok!(cuEventDestroy_v2(event));
        assert_eq!(close(block), 0);
        return;
    }
    let (block, event) = (allocate(16), shared_event());
    assert_eq!(query(event), 0, "the event was never recorded");
    let handle = share(block);
    let first = gate(stream);
    ok!(cuMemsetD32Async(block, 5u32, 4usize, stream));
    record(event, stream);
    let mut other = OtherProcess::start(&test_name!());
    other.send(&handle.text());
    other.send(&try_share_event(event).1.text());
    assert_eq!((other.receive().as_str(), query(event)), ("waiting", code::NOT_READY));
    first.open();
    assert_eq!((other.receive().as_str(), query(event)), ("recorded", code::NOT_READY));
    other.send("go on");
    ok!(cuEventSynchronize(event));
    assert_eq!((read(block, 4), query(event)), (vec![9; 4], 0));
    other.send("end");
    other.end();
    ok!(cuEventDestroy_v2(event));
    ok!(cuCtxDestroy_v2(context));
}

#[test]
fn waits_end_when_the_recording_process_exits() {
    let Some(context) = start() else { return };
    let stream = stream(1);
    if is_child() {
        let (block, event) = (allocate(16), shared_event());
        send(&share(block).text());
        send(&try_share_event(event).1.text());
        gate(stream);
        record(event, stream);
        send("recorded");
        receive();
        std::process::exit(0);
    }
    let mut other = OtherProcess::start(&test_name!());
    let (block, event) = (Handle::read(&other.receive()), Handle::read(&other.receive()));
    let (code, event_here) = try_open_event(event);
    assert_eq!((code, other.receive().as_str()), (0, "recorded"));
    let address = open(block);
    fill(address, 3, 4);
    assert_eq!(query(event_here), code::NOT_READY);
    other.send("end");
    other.end();
    assert_eq!(query(event_here), code::LAUNCH_FAILED);
    let start = Instant::now();
    returns!(code::LAUNCH_FAILED, cuEventSynchronize(event_here));
    assert!(start.elapsed() < Duration::from_secs(60));
    // Memory that is open stays accessible, but can't be opened again.
    assert_eq!(read(address, 4), [3; 4]);
    assert_eq!(close(address), 0);
    let expected = (code::MAP_FAILED, code::MAP_FAILED);
    assert_eq!((try_open(block, LAZY).0, try_open_event(event).0), expected);
    // In a stream, the failed wait makes the context unusable, like a fault of a kernel.
    ok!(cuStreamWaitEvent(stream, event_here, 0u32));
    returns!(code::LAUNCH_FAILED, cuStreamSynchronize(stream));
    ok!(cuCtxDestroy_v2(context));
}

/// A killed process remains as a zombie until its parent collects the exit status, which this parent does late.
#[cfg(target_os = "linux")]
#[test]
fn waits_end_when_the_recording_process_is_a_zombie() {
    let Some(context) = start() else { return };
    if is_child() {
        let event = shared_event();
        send(&try_share_event(event).1.text());
        let stream = stream(1);
        gate(stream);
        record(event, stream);
        send("recorded");
        receive();
        return;
    }
    let mut other = OtherProcess::start(&test_name!());
    let (code, event) = try_open_event(Handle::read(&other.receive()));
    assert_eq!((code, other.receive().as_str()), (0, "recorded"));
    assert_eq!(query(event), code::NOT_READY);
    other.kill();
    let (sender, receiver) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        ok!(cuCtxSetCurrent(context));
        sender.send(cu!(cuEventSynchronize(event)))
    });
    let code = receiver.recv_timeout(Duration::from_secs(60)).expect("the waiting thread hangs");
    assert_eq!((code, query(event)), (code::LAUNCH_FAILED, code::LAUNCH_FAILED));
    assert!(!other.child.wait().unwrap().success());
    assert_eq!(query(event), code::LAUNCH_FAILED);
    ok!(cuCtxDestroy_v2(context));
}
