//! Memory that the host has not: of every large block that the driver asks for, one after another is
//! refused, as SQLite's tests do. Each time the call says `OUT_OF_MEMORY`, or copes; and what is done
//! after that is done right.
//!
//! The functions here stand in for those of the C library in the whole process, the driver's shared
//! library included.

#![cfg(all(target_os = "linux", target_env = "gnu", not(sanitized)))]
#![allow(unsafe_code, reason = "stands in for the C library's allocator, and calls functions in C")]

mod support;

use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use support::{alone, code, cu, is_child, launch};

/// Blocks of this size are what somebody outside chose the size of.
const LARGE: usize = 32 << 10;

static ARMED: AtomicBool = AtomicBool::new(false);
/// Large blocks that were asked for while armed, and which of them is refused.
static ASKED: AtomicUsize = AtomicUsize::new(0);
static REFUSED: AtomicUsize = AtomicUsize::new(0);
/// Where pages were refused: who asks for them again, in smaller steps, is refused again.
static REFUSED_PAGES: AtomicUsize = AtomicUsize::new(0);

fn is_refused(size: usize) -> bool {
    size >= LARGE
        && ARMED.load(Ordering::SeqCst)
        && ASKED.fetch_add(1, Ordering::SeqCst) == REFUSED.load(Ordering::SeqCst)
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
    // SAFETY: the C library's own function.
    if is_refused(size) { NULL } else { unsafe { __libc_malloc(size) } }
}

#[unsafe(no_mangle)]
extern "C" fn calloc(count: usize, size: usize) -> *mut c_void {
    if is_refused(count.saturating_mul(size)) {
        return NULL;
    }
    // SAFETY: the C library's own function.
    unsafe { __libc_calloc(count, size) }
}

/// # Safety
/// As that of the C library.
#[unsafe(no_mangle)]
unsafe extern "C" fn realloc(block: *mut c_void, size: usize) -> *mut c_void {
    // SAFETY: the caller has the block from one of these functions, which are the C library's.
    if is_refused(size) { NULL } else { unsafe { __libc_realloc(block, size) } }
}

/// # Safety
/// As that of the C library.
#[unsafe(no_mangle)]
unsafe extern "C" fn posix_memalign(out: *mut *mut c_void, align: usize, size: usize) -> i32 {
    // SAFETY: the C library's own function.
    let block = if is_refused(size) { NULL } else { unsafe { __libc_memalign(align, size) } };
    if block.is_null() {
        return 12; // ENOMEM
    }
    // SAFETY: the caller gives a place for it.
    unsafe { out.write(block) };
    0
}

/// Pages of addresses that are reserved: how the driver gets its memory where it may reserve them.
///
/// # Safety
/// As that of the C library.
#[unsafe(no_mangle)]
unsafe extern "C" fn mprotect(start: *mut c_void, size: usize, rights: i32) -> i32 {
    let is_again =
        ARMED.load(Ordering::SeqCst) && REFUSED_PAGES.load(Ordering::SeqCst) == start as usize;
    if is_again || is_refused(size) {
        REFUSED_PAGES.store(start as usize, Ordering::SeqCst);
        // SAFETY: each thread has a place for it.
        unsafe { libc::__errno_location().write(libc::ENOMEM) };
        return -1;
    }
    // SAFETY: the caller's arguments, which the system checks.
    unsafe { libc::syscall(libc::SYS_mprotect, start, size, libc::c_long::from(rights)) as i32 }
}

/// A variable of 64 KiB; a kernel that has 64 KiB of local memory a thread, one that has `malloc`
/// give it a block of the heap, and one that adds 1 to each of n numbers.
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
    ($name:ident($($value:expr => $type:ty),* $(,)?)) => {
        match cu!($name($($value => $type),*)) {
            0 => {}
            code => return Err((stringify!($name), code)),
        }
    };
}

fn launched(code: u32) -> Result<(), Failed> {
    if code == 0 { Ok(()) } else { Err(("cuLaunchKernel", code)) }
}

/// Numbers that the work of a program should come to.
const N: usize = 1 << 17;

/// What a program does with memory whose size it chooses, in a context of its own; `host` and `found`
/// are N numbers of the program's own.
fn work(host: &[u32], found: &mut [u32]) -> Result<(), Failed> {
    let mut context = 0usize;
    call!(cuCtxCreate_v2(&raw mut context => *mut usize, 0 => u32, 0 => i32));
    let done = in_context(host, found);
    call!(cuCtxDestroy_v2(context => usize));
    done
}

fn in_context(host: &[u32], found: &mut [u32]) -> Result<(), Failed> {
    let (mut stream, mut module) = (0usize, 0usize);
    call!(cuStreamCreate(&raw mut stream => *mut usize, 1 => u32));
    call!(cuModuleLoadData(&raw mut module => *mut usize, KERNELS.as_ptr() => *const u8));
    let function = |name: &std::ffi::CStr| {
        let mut function = 0usize;
        call!(cuModuleGetFunction(&raw mut function => *mut usize, module => usize, name.as_ptr() => *const i8));
        Ok(function)
    };
    let (mut block, mut managed, mut pooled, mut pinned) = (0u64, 0u64, 0u64, 0usize);
    call!(cuMemAlloc_v2(&raw mut block => *mut u64, N * 4 => usize));
    call!(cuMemAllocManaged(&raw mut managed => *mut u64, N * 4 => usize, 1 => u32));
    call!(cuMemHostAlloc(&raw mut pinned => *mut usize, N * 4 => usize, 0 => u32));
    call!(cuMemAllocAsync(&raw mut pooled => *mut u64, N * 4 => usize, stream => usize));
    // From memory that is not pinned, which the driver takes before the call ends.
    call!(cuMemcpyHtoDAsync_v2(block => u64, host.as_ptr() => *const u32, N * 4 => usize, stream => usize));
    launched(launch(function(c"increment")?, (N as u32 / 256, 256), stream, &[block, N as u64]))?;
    call!(cuMemcpyDtoDAsync_v2(pooled => u64, block => u64, N * 4 => usize, stream => usize));
    call!(cuMemcpyDtoDAsync_v2(managed => u64, pooled => u64, N * 4 => usize, stream => usize));
    call!(cuMemFreeAsync(pooled => u64, stream => usize));
    call!(cuMemcpyDtoHAsync_v2(pinned => usize, managed => u64, N * 4 => usize, stream => usize));
    call!(cuStreamSynchronize(stream => usize));
    call!(cuMemcpyDtoH_v2(found.as_mut_ptr() => *mut u32, managed => u64, N * 4 => usize));
    assert!(found.iter().all(|&number| number == 4), "the numbers are not 3 + 1");
    // SAFETY: there are as many, and the work is done.
    let in_pinned = unsafe { std::slice::from_raw_parts(pinned as *const u32, N) };
    assert_eq!(in_pinned, found);

    launched(launch(function(c"local")?, (1, 64), stream, &[block]))?;
    call!(cuStreamSynchronize(stream => usize));
    launched(launch(function(c"heap")?, (1, 1), stream, &[block]))?;
    call!(cuStreamSynchronize(stream => usize));

    // The same, captured: a graph keeps what the program's memory held.
    let (mut graph, mut executable) = (0usize, 0usize);
    call!(cuStreamBeginCapture_v2(stream => usize, 1 => u32));
    call!(cuMemcpyHtoDAsync_v2(block => u64, host.as_ptr() => *const u32, N * 4 => usize, stream => usize));
    launched(launch(function(c"increment")?, (N as u32 / 256, 256), stream, &[block, N as u64]))?;
    call!(cuStreamEndCapture(stream => usize, &raw mut graph => *mut usize));
    call!(cuGraphInstantiateWithFlags(&raw mut executable => *mut usize, graph => usize, 0 => u64));
    call!(cuGraphLaunch(executable => usize, stream => usize));
    call!(cuStreamSynchronize(stream => usize));
    call!(cuMemcpyDtoH_v2(found.as_mut_ptr() => *mut u32, block => u64, N * 4 => usize));
    assert!(found.iter().all(|&number| number == 4), "the graph's numbers are not 3 + 1");
    call!(cuGraphExecDestroy(executable => usize));
    call!(cuGraphDestroy(graph => usize));

    call!(cuMemFreeHost(pinned => usize));
    call!(cuMemFree_v2(managed => u64));
    call!(cuMemFree_v2(block => u64));
    call!(cuModuleUnload(module => usize));
    call!(cuStreamDestroy_v2(stream => usize));
    Ok(())
}

/// Names the variable that says where a child's allocations lie: `heap`, where it may not reserve
/// addresses for them, or `addresses`.
const PLACE: &str = "ALLOCATION_TEST_PLACE";
/// Names the variable that says which large block a child is refused.
const BLOCK: &str = "ALLOCATION_TEST_BLOCK";

/// A limit of this process's addresses, which the driver takes for a wish that it reserve none.
fn limit_addresses() {
    let limit = libc::rlimit { rlim_cur: 1 << 46, rlim_max: libc::RLIM_INFINITY };
    // SAFETY: the limit is read from a place for one.
    assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_AS, &raw const limit) }, 0);
}

/// Works with one block refused, then again: how many large blocks were asked for the first time.
fn refuse(block: usize) -> usize {
    let (host, mut found) = (vec![3u32; N], vec![0u32; N]);
    let mut work = || work(&host, &mut found);
    assert_eq!(cu!(cuInit(0 => u32)), 0);
    REFUSED.store(block, Ordering::SeqCst);
    ARMED.store(true, Ordering::SeqCst);
    let done = work();
    ARMED.store(false, Ordering::SeqCst);
    let asked = ASKED.load(Ordering::SeqCst);
    match done {
        Ok(()) => {}
        Err((call, code)) => {
            assert!(asked > block, "{call} failed with {code}, and nothing was refused");
            assert_eq!(code, code::OUT_OF_MEMORY, "{call}, at large block {block}");
        }
    }
    assert_eq!(work(), Ok(()), "after large block {block} was refused");
    asked
}

#[test]
fn a_block_that_the_host_has_not_is_out_of_memory_and_no_more() {
    let test = "a_block_that_the_host_has_not_is_out_of_memory_and_no_more";
    if is_child() {
        if std::env::var(PLACE).unwrap() == "heap" {
            limit_addresses();
        }
        let asked = refuse(std::env::var(BLOCK).unwrap().parse().unwrap());
        println!("asked for {asked} large blocks");
        return;
    }
    for (checks, place) in [("memory", "heap"), ("memory", "addresses"), ("all", "addresses")] {
        let mut block = 0;
        // A process for each: what was kept from the last round is not asked for again.
        loop {
            let number = block.to_string();
            let variables = [
                ("EMULATED_GPU_CHECKS", checks),
                ("EMULATED_GPU_THREADS", "2"),
                (PLACE, place),
                (BLOCK, &number),
            ];
            let output = alone(module_path!(), test, &variables);
            let said = String::from_utf8_lossy(&output.stdout);
            let context = || {
                let error = String::from_utf8_lossy(&output.stderr);
                format!("checks {checks}, {place}, block {block}: {said}{error}")
            };
            assert!(output.status.success(), "{}", context());
            let asked = said
                .lines()
                .find_map(|line| line.split("asked for ").nth(1)?.split(' ').next()?.parse().ok());
            let asked: usize = asked.unwrap_or_else(|| panic!("{}", context()));
            if asked <= block {
                break;
            }
            block += 1;
        }
        assert!(block >= 6, "checks {checks}, {place}: {block} large blocks alone were asked for");
        println!("checks {checks}, {place}: {block} large blocks, each refused once");
    }
}
