//! Memory and events that several processes have (CUDA Driver API, `cuIpc…`).

mod events;

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::support::{
    INCREMENT, allocate, attribute, child, code, context, cu, event, function, gate, gives,
    is_child, launch, made, managed, module, ok, pinned, read, stream,
};

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

/// A context of the test's own, where there is memory for several processes.
fn start() -> Option<usize> {
    let context = context();
    // CU_DEVICE_ATTRIBUTE_IPC_EVENT_SUPPORTED
    if attribute(125) == 0 {
        skipped::note("this process may have no files of memory (memfd_create)");
        return None;
    }
    Some(context)
}

fn try_share(address: u64) -> (u32, Handle) {
    let mut handle = Handle([0; 64]);
    (cu!(cuIpcGetMemHandle(&raw mut handle => *mut Handle, address => u64)), handle)
}

fn share(address: u64) -> Handle {
    let (code, handle) = try_share(address);
    assert_eq!(code, 0);
    handle
}

fn try_open(handle: Handle, flags: u32) -> (u32, u64) {
    let mut address = 0;
    let code = cu!(cuIpcOpenMemHandle_v2(
        &raw mut address => *mut u64, handle => Handle, flags => u32
    ));
    (code, address)
}

fn open(handle: Handle) -> u64 {
    let (code, address) = try_open(handle, LAZY);
    assert_eq!(code, 0);
    address
}

fn close(address: u64) -> u32 {
    cu!(cuIpcCloseMemHandle(address => u64))
}

fn fill(address: u64, value: u32, count: usize) {
    ok!(cuMemsetD32_v2(address => u64, value => u32, count => usize));
    ok!(cuCtxSynchronize());
}

fn free(address: u64) -> u32 {
    cu!(cuMemFree_v2(address => u64))
}

fn shared_event() -> usize {
    made!(cuEventCreate(-> usize, INTERPROCESS => u32))
}

fn try_share_event(event: usize) -> (u32, Handle) {
    let mut handle = Handle([0; 64]);
    (cu!(cuIpcGetEventHandle(&raw mut handle => *mut Handle, event => usize)), handle)
}

fn try_open_event(handle: Handle) -> (u32, usize) {
    let mut event = 0;
    let code = cu!(cuIpcOpenEventHandle(&raw mut event => *mut usize, handle => Handle));
    (code, event)
}

/// The same test in another process, which is spoken with line by line.
struct Other {
    child: Child,
    said: BufReader<std::process::ChildStdout>,
}

/// What stands before a line that is meant for the other process.
const TO_OTHER: &str = "to the other process: ";

impl Other {
    fn start(module: &str, test: &str) -> Self {
        Self::start_with(module, test, &[])
    }

    /// With these variables set.
    fn start_with(module: &str, test: &str, variables: &[(&str, &str)]) -> Self {
        let mut command = child(module, test, variables);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let said = BufReader::new(child.stdout.take().unwrap());
        Self { child, said }
    }

    fn tell(&mut self, line: &str) {
        writeln!(self.child.stdin.as_mut().unwrap(), "{line}").unwrap();
    }

    fn hear(&mut self) -> String {
        let mut line = String::new();
        while !line.contains(TO_OTHER) {
            line.clear();
            assert_ne!(self.said.read_line(&mut line).unwrap(), 0, "the other process has ended");
        }
        line.split_once(TO_OTHER).unwrap().1.trim_end().to_owned()
    }

    /// Waits for its end, which is that of a test that holds.
    fn end(mut self) {
        let mut rest = String::new();
        self.said.read_to_string(&mut rest).unwrap();
        assert!(self.child.wait().unwrap().success(), "{rest}");
    }
}

impl Other {
    /// Kills it, and waits until it is a zombie: its output ends then.
    fn kill(&mut self) {
        self.child.kill().unwrap();
        self.said.read_to_string(&mut String::new()).unwrap();
    }

    /// Asks for its exit status.
    fn reap(mut self) {
        assert!(!self.child.wait().unwrap().success());
    }
}

/// In the other process.
fn tell(line: &str) {
    println!("{TO_OTHER}{line}");
}

fn hear() -> String {
    let mut line = String::new();
    assert_ne!(std::io::stdin().read_line(&mut line).unwrap(), 0, "the first process has ended");
    line.trim_end().to_owned()
}

fn hear_handle() -> Handle {
    Handle::read(&hear())
}

#[test]
fn memory_of_one_process_is_read_and_written_by_another() {
    let Some(context) = start() else { return };
    let increment = function(module(INCREMENT), "increment");
    if is_child() {
        let handles: Vec<Handle> = (0..3).map(|_| hear_handle()).collect();
        let free_before = free_bytes();
        let blocks: Vec<u64> = handles.iter().map(|handle| open(*handle)).collect();
        assert_eq!(free_bytes(), free_before, "it counts where it was allocated");
        for (number, (block, len)) in blocks.iter().zip([5, 100, 1 << 20]).enumerate() {
            let expected: Vec<u32> = vec![number as u32 + 1; len];
            assert_eq!(read(*block, len), expected);
            let grid = (len.div_ceil(256) as u32, 256);
            assert_eq!(launch(increment, grid, 0, &[*block, len as u64]), 0);
            let (mut base, mut size) = (0u64, 0usize);
            ok!(cuMemGetAddressRange_v2(
                &raw mut base => *mut u64, &raw mut size => *mut usize, block + 4 => u64
            ));
            assert_eq!((base, size), (*block, 4 * len));
        }
        ok!(cuCtxSynchronize());
        // What this process has open already, it gets again; it is closed as often.
        assert_eq!(open(handles[1]), blocks[1]);
        assert_eq!((close(blocks[1]), read(blocks[1], 1)), (0, vec![3]));
        assert_eq!((close(blocks[1]), close(blocks[1])), (0, code::INVALID_VALUE));
        gives!(code::INVALID_VALUE, cuMemsetD32_v2(blocks[1] => u64, 1 => u32, 1 => usize));
        // It is another process's, and can't be freed or handed on.
        assert_eq!(
            (free(blocks[0]), try_share(blocks[0]).0),
            (code::INVALID_VALUE, code::INVALID_VALUE)
        );
        tell("done");
        // The first process writes.
        hear();
        assert_eq!(read(blocks[0], 5), [7; 5]);
        // A kernel that leaves it is stopped, as with the process's own.
        assert_eq!(launch(increment, (1, 6), 0, &[blocks[0], 6]), 0);
        gives!(code::ILLEGAL_ADDRESS, cuCtxSynchronize());
        return;
    }
    // They lie close to one another: two on one page.
    let sizes = [5, 100, 1 << 20];
    let beside = allocate(4);
    let blocks = sizes.map(|len| allocate(4 * len));
    let after = allocate(4);
    fill(beside, 11, 1);
    fill(after, 12, 1);
    for (number, (block, len)) in blocks.into_iter().zip(sizes).enumerate() {
        fill(block, number as u32 + 1, len);
    }
    let test = "memory_of_one_process_is_read_and_written_by_another";
    let mut other = Other::start(module_path!(), test);
    for block in blocks {
        let handle = share(block);
        assert_eq!(share(block + 4), handle, "a handle is that of the allocation");
        other.tell(&handle.text());
    }
    assert_eq!(other.hear(), "done");
    for (number, (block, len)) in blocks.into_iter().zip(sizes).enumerate() {
        assert_eq!(read(block, len), vec![number as u32 + 2; len]);
    }
    assert_eq!((read(beside, 1), read(after, 1)), (vec![11], vec![12]));
    fill(blocks[0], 7, 5);
    ok!(cuCtxSynchronize());
    other.tell("written");
    other.end();
    assert_eq!(blocks.map(free), [0; 3]);
    ok!(cuCtxDestroy_v2(context => usize));
}

fn free_bytes() -> usize {
    let (mut free, mut total) = (0, 0);
    ok!(cuMemGetInfo_v2(&raw mut free => *mut usize, &raw mut total => *mut usize));
    free
}

/// As CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS has it.
#[test]
fn the_device_of_the_other_process_reaches_it_whichever_it_is() {
    let Some(context) = start() else { return };
    if is_child() {
        made!(cuCtxCreate_v2(-> usize, 0 => u32, 1 => i32));
        let block = open(hear_handle());
        let increment = function(module(INCREMENT), "increment");
        assert_eq!(launch(increment, (1, 32), 0, &[block, 32]), 0);
        ok!(cuCtxSynchronize());
        assert_eq!(close(block), 0);
        return;
    }
    let block = allocate(4 * 32);
    fill(block, 7, 32);
    let test = "the_device_of_the_other_process_reaches_it_whichever_it_is";
    let mut other = Other::start_with(module_path!(), test, &[("EMULATED_GPU_DEVICES", "2")]);
    other.tell(&share(block).text());
    other.end();
    assert_eq!(read(block, 32), [8; 32]);
    ok!(cuCtxDestroy_v2(context => usize));
}

#[test]
fn nothing_that_kernels_write_meanwhile_is_lost() {
    const BLOCKS: usize = 48;
    const LEN: usize = 300;
    let Some(context) = start() else { return };
    let increment = function(module(INCREMENT), "increment");
    let blocks: Vec<u64> = (0..BLOCKS).map(|_| allocate(4 * LEN)).collect();
    blocks.iter().for_each(|block| fill(*block, 0, LEN));
    let (is_over, mut rounds) = (AtomicBool::new(false), 0);
    std::thread::scope(|scope| {
        let shares = scope.spawn(|| {
            ok!(cuCtxSetCurrent(context => usize));
            // Every other one, so that those beside them are moved with them.
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
    ok!(cuCtxDestroy_v2(context => usize));
}

#[test]
fn what_runs_is_waited_for_the_first_time() {
    let Some(context) = start() else { return };
    let (block, stream) = (allocate(4096), stream(1));
    let first = gate(stream);
    first.wait_until_reached();
    let asked = std::thread::scope(|scope| {
        let asking = scope.spawn(|| {
            ok!(cuCtxSetCurrent(context => usize));
            share(block)
        });
        std::thread::sleep(Duration::from_millis(200));
        let early = asking.is_finished();
        first.open();
        assert!(!early, "a host function may use what it has found");
        asking.join().unwrap()
    });
    ok!(cuCtxSynchronize());
    let second = gate(stream);
    assert_eq!(share(block), asked);
    second.open();
    ok!(cuCtxDestroy_v2(context => usize));
}

#[test]
fn what_no_other_process_can_have_is_refused() {
    let Some(context) = start() else { return };
    let wrong = code::INVALID_VALUE;
    let pooled = made!(cuMemAllocAsync(-> u64, 64 => usize, 0 => usize));
    for address in [pooled, pinned(64), managed(64), 0, 8, u64::MAX] {
        assert_eq!(try_share(address).0, wrong, "{address:#x}");
    }
    let block = allocate(64);
    for (address, capable) in [(block, 1), (pooled, 0)] {
        let mut is_capable = 7u32;
        // CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE
        ok!(cuPointerGetAttribute(&raw mut is_capable => *mut u32, 10 => i32, address => u64));
        assert_eq!(is_capable, capable);
    }
    let handle = share(block);
    assert_eq!(try_open(handle, LAZY).0, code::INVALID_CONTEXT, "it is this process's own");
    assert_eq!(try_open(handle, 0).0, wrong);
    assert_eq!(close(block), wrong);
    let event = shared_event();
    let (code, of_event) = try_share_event(event);
    assert_eq!((code, try_open_event(of_event).0), (0, code::INVALID_CONTEXT));
    // Each is a handle of one kind, and of none where anything else is in it.
    assert_eq!((try_open(of_event, LAZY).0, try_open_event(handle).0), (wrong, wrong));
    assert_eq!(
        (try_open(Handle([0; 64]), LAZY).0, try_open(Handle([0xff; 64]), LAZY).0),
        (wrong, wrong)
    );
    // In no byte may it be another one: not the process, the file, the offset or the size.
    for at in 0..64 {
        for change in [1, 0x80, 0xff] {
            let mut changed = handle;
            changed.0[at] ^= change;
            assert_eq!(try_open(changed, LAZY).0, wrong, "byte {at}");
        }
    }
    assert_eq!(try_share_event(self::event()).0, code::INVALID_HANDLE);
    let mut made = 0usize;
    gives!(wrong, cuEventCreate(&raw mut made => *mut usize, 4 => u32), "with times");
    ok!(cuCtxDestroy_v2(context => usize));
}
