//! The functions of `include/emulated_gpu.h`: accesses of host libraries, and counters.

use std::ffi::c_void;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::support::*;

/// `EmulatedGpuRange`
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Range {
    pub(crate) address: u64,
    pub(crate) width: u64,
    pub(crate) height: u64,
    pub(crate) pitch: u64,
    pub(crate) access: u32,
    pub(crate) alignment: u32,
}

const READ: u32 = 1;
const WRITE: u32 = 2;

fn range(address: u64, (width, height, pitch): (u64, u64, u64), access: u32) -> Range {
    Range { address, width, height, pitch, access, alignment: 0 }
}

fn declare(stream: usize, ranges: &[Range]) -> u32 {
    cu!(emulatedGpuDeclareAccess(
        stream, c"multiply".as_ptr(), ranges.as_ptr() => *const Range, ranges.len()
    ))
}

static CALLS: AtomicU32 = AtomicU32::new(0);

unsafe extern "C" fn call(_: *mut c_void) {
    CALLS.fetch_add(1, Ordering::SeqCst);
}

/// The work of a host library: declares its accesses, then enqueues a host function.
fn work(stream: usize, ranges: &[Range]) -> u32 {
    let declared = declare(stream, ranges);
    if declared != 0 {
        return declared;
    }
    let null = std::ptr::null_mut::<c_void>();
    cu!(cuLaunchHostFunc(stream, call => unsafe extern "C" fn(*mut c_void), null))
}

#[test]
fn accesses_of_a_library_are_checked() {
    let case = std::env::var("CASE").unwrap_or_default();
    if !is_child() {
        for (case, checks, part) in [
            ("inside", "all", ""),
            ("beyond", "memory", "illegal address"),
            ("freed", "memory", "freed"),
            ("rows", "memory", "illegal address"),
            ("unwritten", "initialisation", "uninitialised memory"),
            ("unwritten unchecked", "memory", ""),
        ] {
            let text = run_child!(&[("CASE", case), ("EMULATED_GPU_CHECKS", checks)]);
            assert!(text.contains(part), "{case}: no `{part}` in:\n{text}");
            assert!(
                part.is_empty() || text.contains("library multiply, operand 1"),
                "{case}:\n{text}"
            );
        }
        return;
    }
    context();
    let stream = stream(1);
    let (a, b) = (allocate(1024), allocate(1024));
    ok!(cuMemsetD8_v2(a, 0u8, 1024usize));
    // The first two of every three words of b are written.
    ok!(cuMemsetD2D8_v2(b, 12usize, 0u8, 8usize, 40usize));
    ok!(cuCtxSynchronize());
    let first = range(a, (1024, 1, 1024), READ | WRITE);
    let (second, wanted) = match &*case {
        // The gaps between the rows aren't read.
        "inside" => (range(b, (8, 40, 12), READ), 0),
        "beyond" => (range(b, (1025, 1, 1025), WRITE), code::ILLEGAL_ADDRESS),
        "freed" => {
            ok!(cuMemFree_v2(b));
            (range(b, (4, 1, 4), READ), code::ILLEGAL_ADDRESS)
        }
        "rows" => (range(b, (8, 100, 12), WRITE), code::ILLEGAL_ADDRESS),
        "unwritten" => (range(b, (12, 40, 12), READ), code::LAUNCH_FAILED),
        _ => (range(b, (12, 40, 12), READ), 0),
    };
    let actual = work(stream, &[first, second]);
    assert_eq!(actual, 0, "ranges are checked when the stream reaches them");
    returns!(wanted, cuStreamSynchronize(stream));
    assert_eq!(CALLS.load(Ordering::SeqCst), u32::from(wanted == 0));
}

#[test]
fn memory_written_by_a_library_is_initialised() {
    in_child!(&[("EMULATED_GPU_CHECKS", "initialisation")]);
    context();
    let increment = function(module(INCREMENT), "increment");
    let block = allocate(64);
    assert_eq!(work(0, &[range(block, (64, 1, 64), WRITE)]), 0);
    assert_eq!(launch(increment, (1, 16), 0, &[block, 16]), 0);
    ok!(cuCtxSynchronize());
}

#[test]
fn invalid_declarations_are_rejected() {
    let _context = own_context();
    let stream = stream(1);
    let block = allocate(8);
    assert_eq!(declare(stream, &[range(block, (8, 1, 8), 0)]), code::INVALID_VALUE);
    assert_eq!(declare(stream, &[range(block, (8, 1, 8), 4)]), code::INVALID_VALUE);
    assert_eq!(declare(0xbad, &[]), code::INVALID_HANDLE);
    // An empty range is valid at any address.
    assert_eq!(work(stream, &[range(0, (0, 1, 0), READ), range(0, (4, 0, 4), WRITE)]), 0);
    ok!(cuStreamSynchronize(stream));
}

#[test]
fn a_declaration_is_part_of_a_graph() {
    let _context = own_context();
    let stream = stream(1);
    let block = allocate(8);
    ok!(cuStreamBeginCapture_v2(stream, 1u32));
    assert_eq!(work(stream, &[range(block, (8, 1, 8), WRITE)]), 0);
    let graph = output!(cuStreamEndCapture(stream, -> usize));
    let executable = output!(cuGraphInstantiateWithFlags(-> usize, graph, 0u64));
    ok!(cuGraphLaunch(executable, stream));
    ok!(cuStreamSynchronize(stream));
    // The memory is freed, but the graph is still launched.
    ok!(cuMemFree_v2(block));
    ok!(cuGraphLaunch(executable, stream));
    returns!(code::ILLEGAL_ADDRESS, cuStreamSynchronize(stream));
}

#[test]
fn kernels_are_counted() {
    // Runs in a separate process, because counting is switched for the whole process.
    in_child!(&[]);
    context();
    let increment = function(module(INCREMENT), "increment");
    let block = allocate(1024);
    let counts = || {
        let mut counts = [u64::MAX; 16];
        ok!(emulatedGpuGetCounts(increment, counts.as_mut_ptr(), size_of_val(&counts)));
        counts
    };
    assert_eq!(counts(), [0; 16]);
    // 100 of 128 threads do the addition. There are four warps, and the last one diverges.
    assert_eq!(launch(increment, (1, 128), 0, &[block, 100]), 0);
    ok!(cuCtxSynchronize());
    let plain = counts();
    // Every warp executes 8 instructions up to the branch, 5 more in active threads, and 1 to end.
    assert_eq!(plain[..3], [1, 1, 4]);
    assert!(plain[3] >= 4 * 14 && plain[4] >= 128 * 8 + 100 * 5, "{plain:?}");
    assert_eq!(plain[6..], [0; 10], "not counted without a request");
    ok!(emulatedGpuSetCounting(1 => i32));
    assert_eq!(launch(increment, (1, 128), 0, &[block, 100]), 0);
    ok!(cuCtxSynchronize());
    let counted = counts();
    assert_eq!((counted[0], counted[3]), (2, 2 * plain[3]), "the same instructions again");
    // One of four branches diverges. Each warp has a load and a store, which access 100 · 4 / 32 =
    // 12.5 sectors in total, rounded up to 13.
    assert_eq!(counted[6..11], [1, 8, 2 * 13, 0, 0]);
    // Half of the sectors are written; integer additions are not floating-point operations.
    assert_eq!(counted[11..], [13, 0, 0, 0, 0]);
    ok!(emulatedGpuSetCounting(0 => i32));
    // A shorter structure, as in an older header.
    let mut short = [9u64; 3];
    ok!(emulatedGpuGetCounts(increment, short.as_mut_ptr(), 16usize));
    assert_eq!(short, [2, 2, 9]);
    ok!(emulatedGpuResetCounts());
    assert_eq!(counts(), [0; 16]);
    assert_eq!(read(block, 1).len(), 1);
    returns!(code::INVALID_HANDLE, emulatedGpuGetCounts(0usize, short.as_mut_ptr(), 16usize));
}
