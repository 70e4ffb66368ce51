//! Memory outlives the work that uses it, even if other threads free it, destroy the context, unmap registered
//! memory, fork or capture. Tests that could corrupt the process run in a child process.

use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use emulated_gpu_test_support::ptx::entry;

use crate::support::*;

const PAGE: usize = 4096;

/// `spin` writes to its first parameter until the host sets the word at its second one; `store` and `load` access
/// their parameter once.
fn kernels() -> String {
    let header = ".version 7.0\n.target sm_80\n.address_size 64\n".to_owned();
    let spin = ".reg .pred %q; .reg .b32 %r;
        LOOP: st.global.u32 [%p0], 0x41414141; ld.volatile.global.u32 %r, [%p1];
        setp.eq.u32 %q, %r, 0; @%q bra LOOP; ret;";
    header
        + &entry("spin", 2, spin)
        + &entry("store", 1, "st.global.u32 [%p0], 7; ret;")
        + &entry("load", 1, ".reg .b32 %r; ld.global.u32 %r, [%p0]; ret;")
}

/// Waits until a condition is true. The timeout is only exceeded if the driver hangs.
fn eventually(what: &str, mut is_true: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is_true() {
        assert!(start.elapsed() < Duration::from_secs(120), "{what}: timeout after two minutes");
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn freeing_waits_for_kernels_launched_meanwhile() {
    if !is_child() {
        ["pinned", "managed", "device"].iter().for_each(|case| drop(run_child!(&[("CASE", case)])));
        return;
    }
    let context = context();
    let spin = function(module(&kernels()), "spin");
    // Freeing waits for these two streams in the order in which they were created.
    let (passed, waited) = (stream(1), stream(1));
    // The block is larger than the allocator's cache, so the memory would return to the host
    // immediately.
    let size = 100 << 20;
    let (flag, case) = (pinned(4), std::env::var("CASE").unwrap());
    let memory = match &*case {
        "pinned" => pinned(size),
        "managed" => managed(size),
        _ => allocate(size),
    };
    let gate = gate(waited);
    let free = std::thread::spawn(move || {
        ok!(cuCtxSetCurrent(context));
        match &*case {
            "pinned" => cu!(cuMemFreeHost(memory as usize)),
            _ => cu!(cuMemFree_v2(memory)),
        }
    });
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(launch(spin, (1, 1), passed, &[memory, flag]), 0);
    eventually("the kernel", || word(memory).load(Ordering::SeqCst) == 0x4141_4141);
    gate.open();
    // On a busy machine, the thread may only now reach the first stream, and wait for the kernel.
    let start = Instant::now();
    while !free.is_finished() && start.elapsed() < Duration::from_secs(5) {
        std::thread::sleep(Duration::from_millis(1));
    }
    // The host must not get this memory while the kernel writes to it.
    let blocks: Vec<Vec<u8>> = (0..2).map(|_| vec![1u8; size]).collect();
    for block in &blocks {
        let first = block.as_ptr() as u64;
        assert!(memory < first || first + size as u64 <= memory, "the host got the memory");
        assert!(
            block.iter().step_by(PAGE).all(|&byte| byte == 1),
            "the kernel wrote to the host's memory"
        );
    }
    word(flag).store(1, Ordering::SeqCst);
    assert_eq!(free.join().unwrap(), 0);
    ok!(cuStreamSynchronize(passed));
}

#[test]
fn a_context_being_destroyed_accepts_no_work() {
    let context = context();
    let nothing = function(module(INCREMENT), "nothing");
    let (passed, waited) = (stream(1), stream(1));
    let (gate, memory) = (gate(waited), pinned(PAGE));
    let destroy = std::thread::spawn(move || cu!(cuCtxDestroy_v2(context)));
    // Destroying waits for the gate; work accepted until then is waited for.
    eventually("work is still accepted", || match launch(nothing, (1, 1), passed, &[]) {
        0 => false,
        code => {
            assert_eq!(code, code::CONTEXT_IS_DESTROYED);
            true
        }
    });
    assert!(!destroy.is_finished(), "the gate is closed");
    // The memory is still valid, because the work before the gate may use it.
    word(memory).store(1, Ordering::SeqCst);
    gate.open();
    assert_eq!(destroy.join().unwrap(), 0);
}

#[test]
fn unregistering_waits_for_the_kernels_that_use_the_memory() {
    let context = context();
    let spin = function(module(&kernels()), "spin");
    let (passed, waited) = (stream(1), stream(1));
    let (flag, registered) = (pinned(4), Box::leak(vec![0u32; PAGE].into_boxed_slice()));
    let address = registered.as_ptr() as usize;
    ok!(cuMemHostRegister_v2(address, 4 * PAGE => usize, 0u32));
    let gate = gate(waited);
    let unregister = std::thread::spawn(move || {
        ok!(cuCtxSetCurrent(context));
        cu!(cuMemHostUnregister(address))
    });
    std::thread::sleep(Duration::from_millis(100));
    assert_eq!(launch(spin, (1, 1), passed, &[address as u64, flag]), 0);
    eventually("the kernel", || word(address as u64).load(Ordering::SeqCst) == 0x4141_4141);
    gate.open();
    std::thread::sleep(Duration::from_millis(100));
    assert!(!unregister.is_finished(), "the kernel uses the memory");
    word(flag).store(1, Ordering::SeqCst);
    assert_eq!(unregister.join().unwrap(), 0);
    word(address as u64).store(5, Ordering::SeqCst);
    ok!(cuCtxSynchronize());
    assert_eq!(word(address as u64).load(Ordering::SeqCst), 5, "no kernel writes there any more");
    ok!(cuMemFreeHost(flag as usize));
    ok!(cuCtxDestroy_v2(context));
}

/// Allocates pages of host memory.
#[cfg(target_os = "linux")]
fn pages(count: usize, rights: i32) -> usize {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    // SAFETY: the call only requests new pages.
    let pages =
        unsafe { libc::mmap(std::ptr::null_mut(), count * PAGE, rights, flags, -1, 0) } as usize;
    assert_ne!(pages, usize::MAX);
    pages
}

#[cfg(target_os = "linux")]
fn unmap(page: usize) {
    // SAFETY: the page belongs to this test, and nothing refers to it.
    assert_eq!(unsafe { libc::munmap(page as *mut c_void, PAGE) }, 0);
}

#[test]
#[cfg(target_os = "linux")]
fn memory_that_kernels_could_not_write_is_not_registered() {
    const BOTH: i32 = libc::PROT_READ | libc::PROT_WRITE;
    let _context = own_context();
    let register = |address: usize, bytes: usize, flags: u32| cu!(cuMemHostRegister_v2(address => usize, bytes => usize, flags => u32));
    let hole = pages(3, BOTH);
    unmap(hole + PAGE);
    assert_eq!(register(hole, 3 * PAGE, 0), code::INVALID_VALUE, "a hole");
    assert_eq!(register(hole, PAGE, 0), 0);
    ok!(cuMemHostUnregister(hole));
    let read_only = pages(1, libc::PROT_READ);
    assert_eq!(register(read_only, PAGE, 0), code::INVALID_VALUE, "read-only");
    let text = crate::support::wait_at as *const () as usize;
    assert_eq!(register(text, 1, 0), code::INVALID_VALUE, "the program's code");
    assert_eq!(register(usize::MAX - 100, 200, 0), code::INVALID_VALUE, "beyond the end");
    assert_eq!(register(read_only, 0, 0), code::INVALID_VALUE, "nothing");
}

#[test]
#[cfg(target_os = "linux")]
fn accesses_to_read_only_or_unmapped_registered_memory_fault() {
    const BOTH: i32 = libc::PROT_READ | libc::PROT_WRITE;
    let case = std::env::var("CASE").unwrap_or_default();
    if !is_child() {
        for case in ["store", "copy", "fill"] {
            assert!(run_child!(&[("CASE", case)]).contains("registered as read-only"), "{case}");
        }
        for case in ["unmapped", "unmapped copy", "unmapped in part"] {
            assert!(run_child!(&[("CASE", case)]).contains("the host has unmapped"), "{case}");
        }
        return;
    }
    context();
    let (module, stream, memory) = (module(&kernels()), stream(1), allocate(8));
    let (store, load) = (function(module, "store"), function(module, "load"));
    let (rights, flags) =
        if case.starts_with("unmapped") { (BOTH, 0) } else { (libc::PROT_READ, 8) };
    let registered = pages(2, rights);
    ok!(cuMemHostRegister_v2(registered, 2 * PAGE, flags => u32));
    let address = registered as u64;
    assert_eq!(launch(load, (1, 1), stream, &[address]), 0);
    ok!(cuStreamSynchronize(stream));
    match &*case {
        "store" => assert_eq!(launch(store, (1, 1), stream, &[address]), 0),
        "copy" => {
            ok!(cuMemcpyDtoDAsync_v2(address, memory, 8usize, stream));
        }
        "fill" => {
            ok!(cuMemsetD8Async(address, 1u8, 8usize, stream));
        }
        "unmapped" => {
            unmap(registered);
            unmap(registered + PAGE);
            assert_eq!(launch(store, (1, 1), stream, &[address]), 0);
        }
        // Unmaps one of the two pages.
        "unmapped in part" => {
            unmap(registered + PAGE);
            assert_eq!(launch(store, (1, 1), stream, &[address]), 0);
        }
        _ => {
            unmap(registered);
            unmap(registered + PAGE);
            ok!(cuMemcpyDtoDAsync_v2(memory, address, 8usize, stream));
        }
    }
    returns!(code::ILLEGAL_ADDRESS, cuStreamSynchronize(stream));
}

#[test]
#[cfg(target_os = "linux")]
fn a_forked_process_gets_an_error_and_does_not_hang() {
    in_child!(&[("CASE", "")]);
    let context = context();
    let stop: &'static AtomicBool = Box::leak(Box::default());
    let busy: Vec<_> = (0..8)
        .map(|_| {
            std::thread::spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    let mut count = 0i32;
                    cu!(cuInit(0u32));
                    ok!(cuDeviceGetCount(&raw mut count => *mut i32));
                    ok!(cuCtxSetCurrent(context));
                    ok!(cuMemFree_v2(allocate(16)));
                }
            })
        })
        .collect();
    // Look the symbols up now, because a child forked from a process with threads can't do it safely.
    let init: unsafe extern "C" fn(u32) -> u32 = crate::support::symbol("cuInit");
    let count: unsafe extern "C" fn(*mut i32) -> u32 = crate::support::symbol("cuDeviceGetCount");
    for _ in 0..100 {
        // SAFETY: the child only calls two functions of the driver, and exits.
        let process = unsafe { libc::fork() };
        if process == 0 {
            let mut number = 0;
            // SAFETY: as above.
            unsafe {
                let codes = (init(0), count(&raw mut number));
                libc::_exit(i32::from(codes != (code::NOT_INITIALIZED, code::NOT_INITIALIZED)));
            }
        }
        assert!(process > 0);
        let mut status = 0;
        // SAFETY: the call only waits for the child that was just created.
        eventually("a forked process", || unsafe {
            libc::waitpid(process, &raw mut status, libc::WNOHANG) == process
        });
        assert_eq!(status, 0);
    }
    stop.store(true, Ordering::Relaxed);
    busy.into_iter().for_each(|thread| thread.join().unwrap());
}

/// If several threads enqueue work in a stream that is being captured, each node still depends on the previous one.
#[test]
fn a_capture_takes_the_work_of_several_threads() {
    let context = context();
    let (stream, memory) = (stream(1), allocate(4));
    // All threads may make unsafe calls: 2 is CU_STREAM_CAPTURE_MODE_RELAXED.
    ok!(cuStreamBeginCapture_v2(stream, 2u32));
    let threads: Vec<_> = (0..4u8)
        .map(|value| {
            std::thread::spawn(move || {
                ok!(cuCtxSetCurrent(context));
                for _ in 0..100 {
                    ok!(cuMemsetD8Async(memory, value, 4usize, stream));
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    let graph = output!(cuStreamEndCapture(stream, -> usize));
    let (null, mut nodes, mut edges) = (std::ptr::null_mut::<usize>(), 0usize, 0usize);
    ok!(cuGraphGetNodes(graph, null, &raw mut nodes));
    ok!(cuGraphGetEdges(graph, null, null, &raw mut edges));
    assert_eq!((nodes, edges), (400, 399));
    ok!(cuCtxDestroy_v2(context));
}
