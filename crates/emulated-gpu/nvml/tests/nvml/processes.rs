//! Used memory of a card, and the list of processes that use it.

use std::ffi::{c_char, c_int, c_uint};

use crate::support::*;

/// `nvmlProcessInfo_v2_t`
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Process {
    process: c_uint,
    padding: c_uint,
    used: u64,
    instances: [c_uint; 2],
}

/// The structure `nvmlProcessDetailList_v1_t` with a pointer to one entry.
#[repr(C)]
struct ProcessDetailList {
    version: c_uint,
    mode: c_uint,
    count: c_uint,
    processes: *mut (Process, u64),
}

/// Lists the processes that compute on a card; returns the status, the count and the first entry.
fn computing(card: usize, capacity: c_uint) -> (c_uint, c_uint, Process) {
    let (mut count, mut process) = (capacity, Process::default());
    let status = call!(nvmlDeviceGetComputeRunningProcesses_v3(
        card => usize, &raw mut count => *mut c_uint, &raw mut process => *mut Process
    ));
    (status, count, process)
}

#[test]
fn processes_are_listed_with_their_memory() {
    in_child!(TWO_CARDS);
    crate::support::driver();
    ok!(nvmlInit_v2());
    let cards = [device(0), device(1)];
    assert_eq!(computing(cards[1], 0), (0, 0, Process::default()));
    ok!(cuInit(0 => c_uint));
    assert_eq!(computing(cards[1], 1).1, 0, "there is no context yet");
    let context = output!(cuCtxCreate_v2(-> usize, 0 => c_uint, 1 => c_int));
    output!(cuMemAlloc_v2(-> u64, 5 << 20 => usize));
    let (mut free, mut total) = (0usize, 0usize);
    ok!(cuMemGetInfo_v2(&raw mut free, &raw mut total));
    let (free, total) = (free as u64, total as u64);
    let used = total - free;
    assert!(used >= 5 << 20);
    let expected = [total, free, used];
    assert_eq!(output!(nvmlDeviceGetMemoryInfo(cards[1], -> [u64; 3])), expected);
    assert_eq!(output!(nvmlDeviceGetMemoryInfo(cards[0], -> [u64; 3])), [total, total, 0]);
    // nvmlMemory_v2_t: version, total, reserved, free, used.
    let mut second = [40 | 2 << 24, 0, 7, 0, 0];
    ok!(nvmlDeviceGetMemoryInfo_v2(cards[1], second.as_mut_ptr()));
    assert_eq!(second, [40 | 2 << 24, total, 0, free, used]);

    let entry_of_this =
        Process { process: std::process::id(), padding: 0, used, instances: [c_uint::MAX; 2] };
    assert_eq!(computing(cards[1], 0), (INSUFFICIENT_SIZE, 1, Process::default()));
    assert_eq!(computing(cards[1], 9), (0, 1, entry_of_this));
    assert_eq!(computing(cards[0], 9).1, 0, "no context on the other card");
    let (mut count, mut first) = (1, [0u64; 2]);
    ok!(nvmlDeviceGetComputeRunningProcesses(
        cards[1] => usize, &raw mut count => *mut c_uint, first.as_mut_ptr() => *mut u64
    ));
    assert_eq!((count, first), (1, [entry_of_this.process.into(), used]));
    ok!(nvmlDeviceGetGraphicsRunningProcesses_v3(
        cards[1] => usize, &raw mut count => *mut c_uint, std::ptr::null_mut() => *mut Process
    ));
    assert_eq!(count, 0);

    let mut entry = (Process::default(), 7);
    let mut details =
        ProcessDetailList { version: 24 | 1 << 24, mode: 0, count: 0, processes: &raw mut entry };
    let listed = |details: &mut ProcessDetailList| {
        call!(nvmlDeviceGetRunningProcessDetailList(
            cards[1] => usize, std::ptr::from_mut(details) => *mut ProcessDetailList
        ))
    };
    assert_eq!((listed(&mut details), details.count), (INSUFFICIENT_SIZE, 1));
    assert_eq!((listed(&mut details), details.count), (0, 1));
    assert_eq!(entry, (entry_of_this, 0));
    details.mode = 1;
    assert_eq!((listed(&mut details), details.count), (0, 0));
    details.mode = 4;
    assert_eq!(listed(&mut details), INVALID_ARGUMENT);

    ok!(cuCtxDestroy_v2(context));
    assert_eq!(computing(cards[1], 1).1, 0);
    assert_eq!(output!(nvmlDeviceGetMemoryInfo(cards[1], -> [u64; 3])), [total, total, 0]);
}

#[test]
fn process_names_are_their_command() {
    in_child!(&[]);
    crate::support::driver();
    ok!(nvmlInit_v2());
    let name = |process: c_uint, to: *mut c_char, len: c_uint| call!(nvmlSystemGetProcessName(process => c_uint, to => *mut c_char, len => c_uint));
    let process = std::process::id();
    let whole = std::env::args().next().unwrap();
    let mut long = vec![0u8; whole.len() + 1];
    assert_eq!(name(process, long.as_mut_ptr().cast(), long.len() as c_uint), 0);
    assert_eq!(long, [whole.as_bytes(), b"\0"].concat());
    let truncated = text(|to, _| name(process, to, 4));
    assert_eq!(truncated, whole[..3]);
    let mut none = [0 as c_char; 4];
    assert_eq!(name(u32::MAX, none.as_mut_ptr(), 4), NOT_FOUND);
    assert_eq!(name(process, none.as_mut_ptr(), 0), INVALID_ARGUMENT);
    assert_eq!(name(process, std::ptr::null_mut(), 4), INVALID_ARGUMENT);
}
