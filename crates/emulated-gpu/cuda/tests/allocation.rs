//! Test of running out of memory on the host. Like SQLite's tests, this test makes the driver's large allocations fail,
//! one after the other. Each time, the call must return `OUT_OF_MEMORY` or do without the memory, and the driver must
//! still work afterwards.
//!
//! The functions here replace those of the C library in the whole process, including the driver's shared library.

#![cfg(all(target_os = "linux", target_env = "gnu", not(sanitized)))]
#![allow(unsafe_code, reason = "replaces the C library's allocator, and calls functions in C")]

mod support;

use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use support::{child_output, code, cu, is_child, launch, test_name};

/// The minimum size of blocks that are made to fail: those whose size the program chooses.
const LARGE: usize = 32 << 10;

static ARMED: AtomicBool = AtomicBool::new(false);
/// The number of large blocks requested while armed, and the index of the allocation that fails.
static REQUESTED: AtomicUsize = AtomicUsize::new(0);
static FAILING: AtomicUsize = AtomicUsize::new(0);
/// The address at which `mprotect` failed: a retry in smaller steps has to fail too.
static FAILED_PAGES: AtomicUsize = AtomicUsize::new(0);

fn should_fail(size: usize) -> bool {
    size >= LARGE
        && ARMED.load(Ordering::SeqCst)
        && REQUESTED.fetch_add(1, Ordering::SeqCst) == FAILING.load(Ordering::SeqCst)
}

unsafe extern "C" {
    fn __libc_malloc(size: usize) -> *mut c_void;
    fn __libc_calloc(count: usize, size: usize) -> *mut c_void;
    fn __libc_realloc(block: *mut c_void, size: usize) -> *mut c_void;
    fn __libc_memalign(align: usize, size: usize) -> *mut c_void;
}

const NULL: *mut c_void = std::ptr::null_mut();

#[unsafe(no_mangle)]
extern "C" fn malloc(size: usize) -> *mut c_void {
    // SAFETY: the C library's function is called with the same arguments.
    if should_fail(size) { NULL } else { unsafe { __libc_malloc(size) } }
}

#[unsafe(no_mangle)]
extern "C" fn calloc(count: usize, size: usize) -> *mut c_void {
    if should_fail(count.saturating_mul(size)) {
        return NULL;
    }
    // SAFETY: the C library's function is called with the same arguments.
    unsafe { __libc_calloc(count, size) }
}

/// # Safety
/// See the C library.
#[unsafe(no_mangle)]
unsafe extern "C" fn realloc(block: *mut c_void, size: usize) -> *mut c_void {
    // SAFETY: the block comes from one of these functions, which call the C library's.
    if should_fail(size) { NULL } else { unsafe { __libc_realloc(block, size) } }
}

/// # Safety
/// See the C library.
#[unsafe(no_mangle)]
unsafe extern "C" fn posix_memalign(out: *mut *mut c_void, align: usize, size: usize) -> i32 {
    // SAFETY: the C library's function is called with the same arguments.
    let block = if should_fail(size) { NULL } else { unsafe { __libc_memalign(align, size) } };
    if block.is_null() {
        return 12; // ENOMEM
    }
    // SAFETY: the caller passes a valid pointer.
    unsafe { out.write(block) };
    0
}

/// Makes reserved addresses accessible: the driver gets memory this way if it may reserve addresses.
///
/// # Safety
/// See the C library.
#[unsafe(no_mangle)]
unsafe extern "C" fn mprotect(start: *mut c_void, size: usize, rights: i32) -> i32 {
    let is_retry =
        ARMED.load(Ordering::SeqCst) && FAILED_PAGES.load(Ordering::SeqCst) == start as usize;
    if is_retry || should_fail(size) {
        FAILED_PAGES.store(start as usize, Ordering::SeqCst);
        // SAFETY: the location is valid in every thread.
        unsafe { libc::__errno_location().write(libc::ENOMEM) };
        return -1;
    }
    // SAFETY: the system checks the arguments.
    unsafe { libc::syscall(libc::SYS_mprotect, start, size, libc::c_long::from(rights)) as i32 }
}

/// PTX with a variable of 64 KiB and three kernels: one with 64 KiB of local memory per thread, one that allocates and
/// frees a block of the heap, and one that adds 1 to each of n numbers.
const KERNELS: &str = ".version 8.0\n.target sm_80\n.address_size 64\n\
    .global .b8 variable[65536];\n\
    .extern .func (.param .b64 r) malloc(.param .b64 a);\n.extern .func free(.param .b64 a);\n\
    .visible .entry local(.param .u64 p)\n\
    { .local .b8 a[65536]; .reg .b64 %a, %p, %q; .reg .b32 %t; mov.u64 %a, a;\n\
    ld.param.u64 %p, [p]; mov.u32 %t, %tid.x; st.local.u32 [%a+65532], %t;\n\
    ld.local.u32 %t, [%a+65532]; mul.wide.u32 %q, %t, 4; add.u64 %q, %q, %p;\n\
    st.global.u32 [%q], %t; ret; }\n\
    .visible .entry heap(.param .u64 p)\n\
    {\n.param .b64 size, pointer;\n.reg .b64 %a, %p;\n ld.param.u64 %p, [p];\n\
    st.param.b64 [size], 100;\n call (pointer), malloc, (size);\n ld.param.b64 %a, [pointer];\n\
    st.global.u64 [%p], %a;\n st.param.b64 [size], %a;\n call free, (size);\n ret;\n}\n\
    .visible .entry increment(.param .u64 p, .param .u64 n)\n\
    { .reg .pred %q; .reg .b64 %p, %n, %i; .reg .b32 %x, %y, %z;\n\
    ld.param.u64 %p, [p]; ld.param.u64 %n, [n]; mov.u32 %x, %ctaid.x; mov.u32 %y, %ntid.x;\n\
    mov.u32 %z, %tid.x; mad.lo.u32 %x, %x, %y, %z; cvt.u64.u32 %i, %x; setp.ge.u64 %q, %i, %n;\n\
    @%q ret; mul.lo.u64 %i, %i, 4; add.u64 %p, %p, %i; ld.global.u32 %x, [%p];\n\
    add.u32 %x, %x, 1; st.global.u32 [%p], %x; ret; }\0";

/// A call that failed.
type Failed = (&'static str, u32);

macro_rules! call {
    ($name:ident($($arguments:tt)*)) => {
        match cu!($name($($arguments)*)) {
            0 => {}
            code => return Err((stringify!($name), code)),
        }
    };
}

fn launched(code: u32) -> Result<(), Failed> {
    if code == 0 { Ok(()) } else { Err(("cuLaunchKernel", code)) }
}

/// The number of 32-bit numbers that the program processes.
const N: usize = 1 << 17;

/// A program that allocates memory of sizes it chooses, in a new context. `host` and `found` are N numbers of host
/// memory.
fn work(host: &[u32], results: &mut [u32]) -> Result<(), Failed> {
    let mut context = 0usize;
    call!(cuCtxCreate_v2(&raw mut context, 0u32, 0 => i32));
    let result = in_context(host, results);
    call!(cuCtxDestroy_v2(context));
    result
}

fn in_context(host: &[u32], results: &mut [u32]) -> Result<(), Failed> {
    let (mut stream, mut module) = (0usize, 0usize);
    call!(cuStreamCreate(&raw mut stream, 1u32));
    call!(cuModuleLoadData(&raw mut module, KERNELS.as_ptr()));
    let function = |name: &std::ffi::CStr| {
        let mut function = 0usize;
        call!(cuModuleGetFunction(&raw mut function, module, name.as_ptr()));
        Ok(function)
    };
    let (mut block, mut managed, mut pooled, mut pinned) = (0u64, 0u64, 0u64, 0usize);
    call!(cuMemAlloc_v2(&raw mut block, N * 4 => usize));
    call!(cuMemAllocManaged(&raw mut managed, N * 4 => usize, 1u32));
    call!(cuMemHostAlloc(&raw mut pinned, N * 4 => usize, 0u32));
    call!(cuMemAllocAsync(&raw mut pooled, N * 4 => usize, stream));
    // Copy from pageable memory, which the driver reads before the call returns.
    call!(cuMemcpyHtoDAsync_v2(block, host.as_ptr(), N * 4 => usize, stream));
    launched(launch(function(c"increment")?, (N as u32 / 256, 256), stream, &[block, N as u64]))?;
    call!(cuMemcpyDtoDAsync_v2(pooled, block, N * 4 => usize, stream));
    call!(cuMemcpyDtoDAsync_v2(managed, pooled, N * 4 => usize, stream));
    call!(cuMemFreeAsync(pooled, stream));
    call!(cuMemcpyDtoHAsync_v2(pinned, managed, N * 4 => usize, stream));
    call!(cuStreamSynchronize(stream));
    call!(cuMemcpyDtoH_v2(results.as_mut_ptr(), managed, N * 4 => usize));
    assert!(results.iter().all(|&number| number == 4), "the numbers are not 3 + 1");
    // SAFETY: the memory has N numbers, and the work is done.
    let in_pinned = unsafe { std::slice::from_raw_parts(pinned as *const u32, N) };
    assert_eq!(in_pinned, results);

    launched(launch(function(c"local")?, (1, 64), stream, &[block]))?;
    call!(cuStreamSynchronize(stream));
    launched(launch(function(c"heap")?, (1, 1), stream, &[block]))?;
    call!(cuStreamSynchronize(stream));

    // Captures the same kind of work: the graph refers to the program's memory.
    let (mut graph, mut executable) = (0usize, 0usize);
    call!(cuStreamBeginCapture_v2(stream, 1u32));
    call!(cuMemcpyHtoDAsync_v2(block, host.as_ptr(), N * 4 => usize, stream));
    launched(launch(function(c"increment")?, (N as u32 / 256, 256), stream, &[block, N as u64]))?;
    call!(cuStreamEndCapture(stream, &raw mut graph));
    call!(cuGraphInstantiateWithFlags(&raw mut executable, graph, 0u64));
    call!(cuGraphLaunch(executable, stream));
    call!(cuStreamSynchronize(stream));
    call!(cuMemcpyDtoH_v2(results.as_mut_ptr(), block, N * 4 => usize));
    assert!(results.iter().all(|&number| number == 4), "the graph's numbers are not 3 + 1");
    call!(cuGraphExecDestroy(executable));
    call!(cuGraphDestroy(graph));

    call!(cuMemFreeHost(pinned));
    call!(cuMemFree_v2(managed));
    call!(cuMemFree_v2(block));
    call!(cuModuleUnload(module));
    call!(cuStreamDestroy_v2(stream));
    Ok(())
}

/// Environment variable that selects how a child's memory is allocated: `heap`, without reserving addresses, or
/// `addresses`.
const PLACE: &str = "ALLOCATION_TEST_PLACE";
/// Environment variable with the index of the block that fails in a child.
const BLOCK: &str = "ALLOCATION_TEST_BLOCK";

/// Limits this process's address space; the driver then doesn't reserve addresses.
fn limit_addresses() {
    let limit = libc::rlimit { rlim_cur: 1 << 46, rlim_max: libc::RLIM_INFINITY };
    // SAFETY: the limit is a valid structure.
    assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_AS, &raw const limit) }, 0);
}

/// Runs the test program while the allocation of one block fails, and then again without a failure. Returns the number
/// of large blocks that the first run requested.
fn fail_block(block: usize) -> usize {
    let (host, mut results) = (vec![3u32; N], vec![0u32; N]);
    let mut work = || work(&host, &mut results);
    assert_eq!(cu!(cuInit(0u32)), 0);
    FAILING.store(block, Ordering::SeqCst);
    ARMED.store(true, Ordering::SeqCst);
    let result = work();
    ARMED.store(false, Ordering::SeqCst);
    let requested = REQUESTED.load(Ordering::SeqCst);
    match result {
        Ok(()) => {}
        Err((call, code)) => {
            assert!(requested > block, "{call} failed with {code}, but all blocks were allocated");
            assert_eq!(code, code::OUT_OF_MEMORY, "{call}, at large block {block}");
        }
    }
    assert_eq!(work(), Ok(()), "after large block {block} failed");
    requested
}

#[test]
fn each_failed_allocation_is_reported_as_out_of_memory() {
    if is_child() {
        if std::env::var(PLACE).unwrap() == "heap" {
            limit_addresses();
        }
        let requested = fail_block(std::env::var(BLOCK).unwrap().parse().unwrap());
        println!("requested {requested} large blocks");
        return;
    }
    for (checks, place) in [("memory", "heap"), ("memory", "addresses"), ("all", "addresses")] {
        let mut block = 0;
        // Each block fails in a separate process, because the driver keeps some memory for later
        // calls.
        loop {
            let number = block.to_string();
            let variables = [
                ("EMULATED_GPU_CHECKS", checks),
                ("EMULATED_GPU_THREADS", "2"),
                (PLACE, place),
                (BLOCK, &number),
            ];
            let output = child_output(&test_name!(), &variables);
            let printed = String::from_utf8_lossy(&output.stdout);
            let context = || {
                let error = String::from_utf8_lossy(&output.stderr);
                format!("checks {checks}, {place}, block {block}: {printed}{error}")
            };
            assert!(output.status.success(), "{}", context());
            let requested = printed
                .lines()
                .find_map(|line| line.split("requested ").nth(1)?.split(' ').next()?.parse().ok());
            let requested: usize = requested.unwrap_or_else(|| panic!("{}", context()));
            if requested <= block {
                break;
            }
            block += 1;
        }
        assert!(block >= 6, "checks {checks}, {place}: only {block} large blocks were requested");
        println!("checks {checks}, {place}: {block} large blocks, each failed once");
    }
}
