//! Memory and events shared between processes (CUDA Driver API, `cuIpc…`).

mod events;

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::support::*;

/// `CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS`
const LAZY: u32 = 1;
/// `CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS`
const INTERPROCESS: u32 = 2 | 4;

/// `CUipcMemHandle`, `CUipcEventHandle`
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
struct Handle([u8; 64]);

impl Handle {
    fn text(&self) -> String {
        self.0.map(|byte| format!("{byte:02x}")).concat()
    }

    fn read(text: &str) -> Self {
        let byte = |at: usize| u8::from_str_radix(&text[2 * at..2 * at + 2], 16).unwrap();
        Self(std::array::from_fn(byte))
    }
}

/// A context for the test, if interprocess memory is available.
fn start() -> Option<usize> {
    let context = context();
    // CU_DEVICE_ATTRIBUTE_IPC_EVENT_SUPPORTED
    if attribute(125) == 0 {
        skipped::note("this process may not create memory files (memfd_create)");
        return None;
    }
    Some(context)
}

fn try_share(address: u64) -> (u32, Handle) {
    let mut handle = Handle([0; 64]);
    (cu!(cuIpcGetMemHandle(&raw mut handle => *mut Handle, address)), handle)
}

fn share(address: u64) -> Handle {
    let (code, handle) = try_share(address);
    assert_eq!(code, 0);
    handle
}

fn try_open(handle: Handle, flags: u32) -> (u32, u64) {
    let mut address = 0;
    let code = cu!(cuIpcOpenMemHandle_v2(&raw mut address, handle => Handle, flags));
    (code, address)
}

fn open(handle: Handle) -> u64 {
    let (code, address) = try_open(handle, LAZY);
    assert_eq!(code, 0);
    address
}

fn close(address: u64) -> u32 {
    cu!(cuIpcCloseMemHandle(address))
}

fn fill(address: u64, value: u32, count: usize) {
    ok!(cuMemsetD32_v2(address, value, count));
    ok!(cuCtxSynchronize());
}

fn free(address: u64) -> u32 {
    cu!(cuMemFree_v2(address))
}

fn shared_event() -> usize {
    output!(cuEventCreate(-> usize, INTERPROCESS))
}

fn try_share_event(event: usize) -> (u32, Handle) {
    let mut handle = Handle([0; 64]);
    (cu!(cuIpcGetEventHandle(&raw mut handle => *mut Handle, event)), handle)
}

fn try_open_event(handle: Handle) -> (u32, usize) {
    let mut event = 0;
    let code = cu!(cuIpcOpenEventHandle(&raw mut event, handle => Handle));
    (code, event)
}

/// A child process that runs the same test. The processes exchange messages line by line.
struct OtherProcess {
    child: Child,
    output: BufReader<std::process::ChildStdout>,
}

/// The prefix of a message to the parent process.
const MESSAGE: &str = "message: ";

impl OtherProcess {
    fn start(test: &str) -> Self {
        Self::start_with(test, &[])
    }

    /// Starts the process with environment variables.
    fn start_with(test: &str, variables: &[(&str, &str)]) -> Self {
        let mut command = child(test, variables);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        Self { child, output }
    }

    fn send(&mut self, line: &str) {
        writeln!(self.child.stdin.as_mut().unwrap(), "{line}").unwrap();
    }

    fn receive(&mut self) -> String {
        let mut line = String::new();
        while !line.contains(MESSAGE) {
            line.clear();
            assert_ne!(self.output.read_line(&mut line).unwrap(), 0, "the other process has ended");
        }
        line.split_once(MESSAGE).unwrap().1.trim_end().to_owned()
    }

    /// Waits until the process has ended successfully.
    fn end(mut self) {
        let mut rest = String::new();
        self.output.read_to_string(&mut rest).unwrap();
        assert!(self.child.wait().unwrap().success(), "{rest}");
    }
}

impl OtherProcess {
    /// Kills the process, and waits until it is a zombie, which ends its output.
    fn kill(&mut self) {
        self.child.kill().unwrap();
        self.output.read_to_string(&mut String::new()).unwrap();
    }
}

/// Sends a message from the child to the parent.
fn send(line: &str) {
    println!("{MESSAGE}{line}");
}

fn receive() -> String {
    let mut line = String::new();
    assert_ne!(std::io::stdin().read_line(&mut line).unwrap(), 0, "the first process has ended");
    line.trim_end().to_owned()
}

fn receive_handle() -> Handle {
    Handle::read(&receive())
}

#[test]
fn memory_of_one_process_is_read_and_written_by_another() {
    let Some(context) = start() else { return };
    let increment = function(module(INCREMENT), "increment");
    if is_child() {
        let handles: Vec<Handle> = (0..3).map(|_| receive_handle()).collect();
        let free_before = free_memory();
        let blocks: Vec<u64> = handles.iter().map(|handle| open(*handle)).collect();
        assert_eq!(free_memory(), free_before, "memory counts in the process that allocated it");
        for (number, (block, len)) in blocks.iter().zip([5, 100, 1 << 20]).enumerate() {
            let expected: Vec<u32> = vec![number as u32 + 1; len];
            assert_eq!(read(*block, len), expected);
            let grid = (len.div_ceil(256) as u32, 256);
            assert_eq!(launch(increment, grid, 0, &[*block, len as u64]), 0);
            let (mut base, mut size) = (0u64, 0usize);
            ok!(cuMemGetAddressRange_v2(&raw mut base, &raw mut size, block + 4));
            assert_eq!((base, size), (*block, 4 * len));
        }
        ok!(cuCtxSynchronize());
        // Opening a handle again gives the same address, which must then be closed as often as it
        // was opened.
        assert_eq!(open(handles[1]), blocks[1]);
        assert_eq!((close(blocks[1]), read(blocks[1], 1)), (0, vec![3]));
        assert_eq!((close(blocks[1]), close(blocks[1])), (0, code::INVALID_VALUE));
        returns!(code::INVALID_VALUE, cuMemsetD32_v2(blocks[1], 1u32, 1usize));
        // Another process's memory can't be freed or shared further.
        let actual = (free(blocks[0]), try_share(blocks[0]).0);
        assert_eq!(actual, (code::INVALID_VALUE, code::INVALID_VALUE));
        send("done");
        // The parent process writes.
        receive();
        assert_eq!(read(blocks[0], 5), [7; 5]);
        // A kernel that accesses memory outside the allocation faults, as with local memory.
        assert_eq!(launch(increment, (1, 6), 0, &[blocks[0], 6]), 0);
        returns!(code::ILLEGAL_ADDRESS, cuCtxSynchronize());
        return;
    }
    // The allocations are close together: two of them are on one page.
    let sizes = [5, 100, 1 << 20];
    let before = allocate(4);
    let blocks = sizes.map(|len| allocate(4 * len));
    let after = allocate(4);
    fill(before, 11, 1);
    fill(after, 12, 1);
    for (number, (block, len)) in blocks.into_iter().zip(sizes).enumerate() {
        fill(block, number as u32 + 1, len);
    }
    let mut other = OtherProcess::start(&test_name!());
    for block in blocks {
        let handle = share(block);
        assert_eq!(share(block + 4), handle, "a handle is for the whole allocation");
        other.send(&handle.text());
    }
    assert_eq!(other.receive(), "done");
    for (number, (block, len)) in blocks.into_iter().zip(sizes).enumerate() {
        assert_eq!(read(block, len), vec![number as u32 + 2; len]);
    }
    assert_eq!((read(before, 1), read(after, 1)), (vec![11], vec![12]));
    fill(blocks[0], 7, 5);
    ok!(cuCtxSynchronize());
    other.send("written");
    other.end();
    assert_eq!(blocks.map(free), [0; 3]);
    ok!(cuCtxDestroy_v2(context));
}

/// CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS gives the device access.
#[test]
fn shared_memory_is_accessible_from_every_device() {
    let Some(context) = start() else { return };
    if is_child() {
        output!(cuCtxCreate_v2(-> usize, 0u32, 1 => i32));
        let block = open(receive_handle());
        let increment = function(module(INCREMENT), "increment");
        assert_eq!(launch(increment, (1, 32), 0, &[block, 32]), 0);
        ok!(cuCtxSynchronize());
        assert_eq!(close(block), 0);
        return;
    }
    let block = allocate(4 * 32);
    fill(block, 7, 32);
    let mut other = OtherProcess::start_with(&test_name!(), &[("EMULATED_GPU_DEVICES", "2")]);
    other.send(&share(block).text());
    other.end();
    assert_eq!(read(block, 32), [8; 32]);
    ok!(cuCtxDestroy_v2(context));
}

#[test]
fn sharing_loses_no_concurrent_writes() {
    const BLOCKS: usize = 48;
    const LEN: usize = 300;
    let Some(context) = start() else { return };
    let increment = function(module(INCREMENT), "increment");
    let blocks: Vec<u64> = (0..BLOCKS).map(|_| allocate(4 * LEN)).collect();
    blocks.iter().for_each(|block| fill(*block, 0, LEN));
    let (is_over, mut rounds) = (AtomicBool::new(false), 0);
    std::thread::scope(|scope| {
        let shares = scope.spawn(|| {
            ok!(cuCtxSetCurrent(context));
            // Share every second block. Its neighbours on the page are moved with it.
            for block in blocks.iter().step_by(2) {
                share(*block);
                std::thread::sleep(Duration::from_millis(1));
            }
            is_over.store(true, Ordering::SeqCst);
        });
        let streams = [stream(1), stream(1)];
        while !is_over.load(Ordering::SeqCst) && !shares.is_finished() {
            for (number, block) in blocks.iter().enumerate() {
                let code = launch(increment, (2, 256), streams[number % 2], &[*block, LEN as u64]);
                assert_eq!(code, 0);
            }
            ok!(cuCtxSynchronize());
            rounds += 1;
        }
    });
    assert!(rounds > 0);
    for block in &blocks {
        assert_eq!(read(*block, LEN), vec![rounds; LEN]);
    }
    ok!(cuCtxDestroy_v2(context));
}

#[test]
fn the_first_share_waits_for_running_work() {
    let Some(context) = start() else { return };
    let (block, stream) = (allocate(4096), stream(1));
    let first = gate(stream);
    first.wait_until_reached();
    let handle = std::thread::scope(|scope| {
        let sharing = scope.spawn(|| {
            ok!(cuCtxSetCurrent(context));
            share(block)
        });
        std::thread::sleep(Duration::from_millis(200));
        let early = sharing.is_finished();
        first.open();
        assert!(!early, "sharing waits for the running host function");
        sharing.join().unwrap()
    });
    ok!(cuCtxSynchronize());
    let second = gate(stream);
    assert_eq!(share(block), handle);
    second.open();
    ok!(cuCtxDestroy_v2(context));
}

#[test]
fn memory_that_can_not_be_shared_is_rejected() {
    let Some(context) = start() else { return };
    let wrong = code::INVALID_VALUE;
    let pooled = output!(cuMemAllocAsync(-> u64, 64usize, 0usize));
    for address in [pooled, pinned(64), managed(64), 0, 8, u64::MAX] {
        assert_eq!(try_share(address).0, wrong, "{address:#x}");
    }
    let block = allocate(64);
    for (address, capable) in [(block, 1), (pooled, 0)] {
        let mut is_capable = 7u32;
        // CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE
        ok!(cuPointerGetAttribute(&raw mut is_capable, 10 => i32, address));
        assert_eq!(is_capable, capable);
    }
    let handle = share(block);
    assert_eq!(try_open(handle, LAZY).0, code::INVALID_CONTEXT, "it belongs to this process");
    assert_eq!(try_open(handle, 0).0, wrong);
    assert_eq!(close(block), wrong);
    let event = shared_event();
    let (code, event_handle) = try_share_event(event);
    assert_eq!((code, try_open_event(event_handle).0), (0, code::INVALID_CONTEXT));
    // A handle is only valid for its kind.
    assert_eq!((try_open(event_handle, LAZY).0, try_open_event(handle).0), (wrong, wrong));
    let expected = (wrong, wrong);
    assert_eq!((try_open(Handle([0; 64]), LAZY).0, try_open(Handle([0xff; 64]), LAZY).0), expected);
    // Changing any byte makes a handle invalid: the process, the file, the offset or the size.
    for at in 0..64 {
        for change in [1, 0x80, 0xff] {
            let mut changed = handle;
            changed.0[at] ^= change;
            assert_eq!(try_open(changed, LAZY).0, wrong, "byte {at}");
        }
    }
    assert_eq!(try_share_event(self::event()).0, code::INVALID_HANDLE);
    let mut opened = 0usize;
    returns!(wrong, cuEventCreate(&raw mut opened, 4u32), "with times");
    ok!(cuCtxDestroy_v2(context));
}
