//! Work of a host library (`include/emulated_gpu.h`): it requests memory when the stream reaches it, and the memory
//! stays valid until it ends.

use std::ffi::{c_char, c_void};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

use crate::emulated_gpu::Range;
use crate::support::*;

fn range(address: u64, bytes: u64, access: u32, alignment: u32) -> Range {
    Range { address, width: bytes, height: 1, pitch: bytes, access, alignment }
}

type Function = extern "C" fn(*mut c_void, *const c_void) -> u32;
type Release = extern "C" fn(*mut c_void);

/// Work that requests these ranges and writes to each.
#[derive(Default)]
struct TestWork {
    ranges: Vec<Range>,
    /// The result if the request was granted.
    result: u32,
    /// Whether the work waits for `go` after the request was granted.
    waits: bool,
    go: AtomicBool,
    granted: AtomicU32,
    denied: AtomicU32,
    released: AtomicU32,
}

extern "C" fn run(data: *mut c_void, requester: *const c_void) -> u32 {
    // SAFETY: the tests never free their work.
    let work = unsafe { &*data.cast::<TestWork>() };
    let code = cu!(emulatedGpuAccess(
        requester => *const c_void, work.ranges.as_ptr() => *const Range, work.ranges.len() => usize
    ));
    if code != 0 {
        work.denied.fetch_add(1, Ordering::SeqCst);
        return 0;
    }
    work.granted.fetch_add(1, Ordering::SeqCst);
    let start = Instant::now();
    while work.waits
        && !work.go.load(Ordering::SeqCst)
        && start.elapsed() < Duration::from_secs(120)
    {
        std::thread::sleep(Duration::from_millis(1));
    }
    for range in &work.ranges {
        // SAFETY: the driver granted access to the range.
        unsafe { std::ptr::write_bytes(range.address as *mut u8, 1, range.width as usize) };
    }
    work.result
}

extern "C" fn release(data: *mut c_void) {
    // SAFETY: as above.
    unsafe { &*data.cast::<TestWork>() }.released.fetch_add(1, Ordering::SeqCst);
}

impl TestWork {
    fn leak(self) -> &'static Self {
        Box::leak(Box::new(self))
    }

    fn launch(&'static self, stream: usize) -> u32 {
        cu!(emulatedGpuLaunchWork(
            stream => usize, c"multiply".as_ptr() => *const c_char, run => Function,
            std::ptr::from_ref(self).cast_mut().cast() => *mut c_void, release => Release,
        ))
    }

    fn counts(&self) -> [u32; 3] {
        [&self.granted, &self.denied, &self.released].map(|count| count.load(Ordering::SeqCst))
    }
}

#[test]
fn work_runs_in_order_and_is_released() {
    let _context = own_context();
    let (stream, memory) = (stream(1), allocate(8));
    ok!(cuMemsetD8Async(memory, 0u8, 8usize, stream));
    let work = TestWork { ranges: vec![range(memory, 4, 2, 4)], ..TestWork::default() }.leak();
    assert_eq!(work.launch(stream), 0);
    ok!(cuStreamSynchronize(stream));
    assert_eq!(read(memory, 2), [0x0101_0101, 0]);
    let start = Instant::now();
    while work.counts() != [1, 0, 1] {
        assert!(start.elapsed() < Duration::from_secs(120), "{:?}", work.counts());
    }
    // Rejected work still belongs to the caller.
    assert_eq!(work.launch(0xbad), code::INVALID_HANDLE);
    let null = std::ptr::null::<c_void>();
    returns!(code::INVALID_VALUE, emulatedGpuLaunchWork(
        stream, c"multiply".as_ptr(), null, null, release => Release
    ));
    assert_eq!(work.counts(), [1, 0, 1]);
}

#[test]
fn captured_work_runs_in_each_launch() {
    let _context = own_context();
    let (stream, memory) = (stream(1), allocate(8));
    let work = TestWork { ranges: vec![range(memory, 4, 2, 4)], ..TestWork::default() }.leak();
    ok!(cuStreamBeginCapture_v2(stream, 1u32));
    assert_eq!(work.launch(stream), 0);
    let graph = output!(cuStreamEndCapture(stream, -> usize));
    let executable = output!(cuGraphInstantiateWithFlags(-> usize, graph, 0u64));
    for _ in 0..3 {
        ok!(cuGraphLaunch(executable, stream));
    }
    ok!(cuStreamSynchronize(stream));
    assert_eq!(work.counts(), [3, 0, 0]);
    ok!(cuGraphDestroy(graph));
    assert_eq!(work.counts(), [3, 0, 0], "the executable graph holds the work");
    // The memory is freed, but the graph is still launched.
    ok!(cuMemFree_v2(memory));
    ok!(cuGraphLaunch(executable, stream));
    returns!(code::ILLEGAL_ADDRESS, cuStreamSynchronize(stream));
    assert_eq!(work.counts(), [3, 1, 0]);
    ok!(cuGraphExecDestroy(executable));
    let start = Instant::now();
    while work.counts() != [3, 1, 1] {
        assert!(start.elapsed() < Duration::from_secs(120), "{:?}", work.counts());
    }
}

#[test]
fn a_denied_request_makes_the_context_unusable() {
    let case = std::env::var("CASE").unwrap_or_default();
    if !is_child() {
        for (case, part) in [
            ("host", "illegal address\n  library multiply, operand 1, which it writes"),
            ("beyond", "illegal address"),
            ("misaligned", "misaligned address\n  library multiply, operand 1"),
            ("failed", "library multiply: it failed with error 719"),
            ("nonsense", "the access must be 1 (read), 2 (write) or 3 (both)"),
        ] {
            let printed = run_child!(&[("CASE", case), ("CUDA_LOG_FILE", "stderr")]);
            assert!(printed.contains(part), "{case}: no `{part}` in:\n{printed}");
        }
        return;
    }
    context();
    let (stream, memory, host) = (stream(1), allocate(1024), [7u32; 4]);
    let good = range(memory, 1024, 3, 256);
    let (second, result, wanted) = match &*case {
        "host" => (range(host.as_ptr() as u64, 16, 2, 0), 0, code::ILLEGAL_ADDRESS),
        "beyond" => (range(memory + 1020, 8, 2, 0), 0, code::ILLEGAL_ADDRESS),
        "misaligned" => (range(memory + 2, 8, 2, 4), 0, code::MISALIGNED_ADDRESS),
        "failed" => (good, code::LAUNCH_FAILED, code::LAUNCH_FAILED),
        _ => (range(memory, 8, 4, 0), 0, 0),
    };
    let work = TestWork { ranges: vec![good, second], result, ..TestWork::default() }.leak();
    assert_eq!(work.launch(stream), 0);
    returns!(wanted, cuStreamSynchronize(stream));
    assert_eq!(host, [7; 4], "the host's memory is unchanged");
    assert_eq!(work.counts()[..2], if result == 0 { [0, 1] } else { [1, 0] });
}

#[test]
fn granted_memory_stays_valid_until_the_work_ends() {
    in_child!(&[]);
    context();
    let (working, freeing) = (stream(1), stream(1));
    // The block is larger than the allocator's cache of freed memory.
    let size = 100 << 20;
    let memory = allocate(size);
    let work = TestWork {
        ranges: vec![range(memory, size as u64, 2, 4)],
        waits: true,
        ..TestWork::default()
    };
    let work = work.leak();
    assert_eq!(work.launch(working), 0);
    while work.counts()[0] == 0 {
        std::thread::sleep(Duration::from_millis(1));
    }
    ok!(cuMemFreeAsync(memory, freeing));
    ok!(cuStreamSynchronize(freeing));
    let host: Vec<Vec<u8>> = (0..2).map(|_| vec![5u8; size]).collect();
    work.go.store(true, Ordering::SeqCst);
    ok!(cuStreamSynchronize(working));
    assert!(host.iter().all(|block| block.iter().step_by(4096).all(|&byte| byte == 5)));
    // Later requests for the freed memory are denied.
    assert_eq!(work.launch(working), 0);
    returns!(code::ILLEGAL_ADDRESS, cuStreamSynchronize(working));
}
