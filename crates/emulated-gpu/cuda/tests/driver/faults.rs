//! Tests of kernels' faults: the error code is right and sticky, and a report is printed on
//! standard error.

use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, Ordering};

use emulated_gpu_test_support::ptx::entry;

use crate::support::*;

/// Kernels that break one rule each. Their parameters have 8 bytes.
fn faulty_kernels() -> String {
    let header = ".version 7.0\n.target sm_80\n.address_size 64\n".to_owned();
    let misaligned = ".reg .b32 %r; .reg .b64 %d; add.s64 %d, %p0, 2; ld.global.u32 %r, [%d];
        st.global.u32 [%p0], %r; ret;";
    let barrier = ".reg .b32 %r<2>; .reg .pred %q; mov.u32 %r0, %envreg1; mov.u32 %r1, %envreg2;
        or.b32 %r0, %r0, %r1; setp.eq.u32 %q, %r0, 0; @%q trap; ret;";
    let copy = ".reg .b32 %r; ld.global.u32 %r, [%p1]; st.global.u32 [%p0], %r; ret;";
    let all_write = ".reg .b32 %r; mov.u32 %r, %ctaid.x; st.global.u32 [%p0], %r; ret;";
    header
        + &entry("misaligned", 1, misaligned)
        + &entry("trapped", 0, "trap; ret;")
        + &entry("barrier", 0, barrier)
        + &entry("endless", 0, "LOOP: bra LOOP;")
        + &entry("copy", 2, copy)
        + &entry("all_write", 1, all_write)
}

#[test]
fn an_out_of_bounds_access_makes_the_context_unusable() {
    if !is_child() {
        let text = run_child!(&[]);
        for part in [
            "illegal address",
            "increment",
            "block (0, 0, 0), thread (16, 0, 0)",
            "ld.global.u32",
            "64 bytes",
        ] {
            assert!(text.contains(part), "no `{part}` in:\n{text}");
        }
        return;
    }
    static CALLED: AtomicBool = AtomicBool::new(false);
    unsafe extern "C" fn call(_: *mut c_void) {
        CALLED.store(true, Ordering::SeqCst);
    }
    let _first = own_context();
    let other = stream(1);
    let stream = stream(1);
    let done = event();
    let (block, number) = (allocate(64), 16u64);
    let module = module(INCREMENT);
    let increment = function(module, "increment");
    let actual = launch(increment, (1, 32), stream, &[block, number + 1]);
    assert_eq!(actual, 0, "the launch itself succeeds");
    let null = std::ptr::null_mut::<c_void>();
    ok!(cuLaunchHostFunc(stream, call => unsafe extern "C" fn(*mut c_void), null));
    // No matter how soon the kernel fails, work is accepted until the error has been reported.
    std::thread::sleep(std::time::Duration::from_millis(50));
    assert_eq!(launch(increment, (1, 1), other, &[block, 1]), 0);
    ok!(cuEventRecord(done, stream));
    returns!(code::ILLEGAL_ADDRESS, cuStreamSynchronize(stream));
    // The error is sticky: it is returned for every stream, by every call that needs the context.
    let mut address = 0u64;
    returns!(code::ILLEGAL_ADDRESS, cuMemAlloc_v2(&raw mut address, 4usize));
    returns!(code::ILLEGAL_ADDRESS, cuStreamSynchronize(other));
    returns!(code::ILLEGAL_ADDRESS, cuEventQuery(done));
    returns!(code::ILLEGAL_ADDRESS, cuCtxSynchronize());
    assert_eq!(launch(increment, (1, 1), other, &[block, 1]), code::ILLEGAL_ADDRESS);
    assert!(!CALLED.load(Ordering::SeqCst), "a host function after a fault is not called");
    // Another context is not affected.
    let second = context();
    let fresh = allocate(4);
    ok!(cuMemsetD32_v2(fresh, 1u32, 1usize));
    assert_eq!(read(fresh, 1), [1]);
    ok!(cuCtxDestroy_v2(second));
}

/// The error code of a kernel's execution.
fn error_of(name: &str, parameters: &[u64]) -> u32 {
    let kernel = function(module(&faulty_kernels()), name);
    assert_eq!(launch(kernel, (2, 1), 0, parameters), 0);
    cu!(cuCtxSynchronize())
}

#[test]
fn each_fault_has_its_code() {
    let child = |name: &str| std::env::var("KERNEL").is_ok_and(|kernel| kernel == name);
    if !is_child() {
        for (kernel, part) in [
            ("misaligned", "misaligned address"),
            ("trapped", "trap"),
            ("barrier", "the launch is not cooperative"),
            ("endless", "runaway kernel"),
            ("freed", "freed"),
            ("null", "illegal address"),
        ] {
            let variables = [("KERNEL", kernel), ("EMULATED_GPU_INSTRUCTION_LIMIT", "100000")];
            let text = run_child!(&variables);
            assert!(text.contains(part), "no `{part}` in:\n{text}");
        }
        return;
    }
    context();
    let block = allocate(64);
    if child("misaligned") {
        assert_eq!(error_of("misaligned", &[block]), code::MISALIGNED_ADDRESS);
    } else if child("trapped") {
        assert_eq!(error_of("trapped", &[]), code::LAUNCH_FAILED);
    } else if child("barrier") {
        // The instructions to which `grid.sync()` compiles.
        assert_eq!(error_of("barrier", &[]), code::LAUNCH_FAILED);
    } else if child("endless") {
        assert_eq!(error_of("endless", &[]), code::LAUNCH_TIMEOUT);
    } else if child("freed") {
        ok!(cuMemFree_v2(block));
        let other = allocate(64);
        assert_eq!(error_of("copy", &[other, block]), code::ILLEGAL_ADDRESS);
    } else {
        assert_eq!(error_of("copy", &[block, 0]), code::ILLEGAL_ADDRESS);
    }
}

#[test]
fn checks_are_selected_by_the_environment() {
    if !is_child() {
        for (checks, kernel, part) in [
            ("memory", "copy", None),
            ("initialisation", "copy", Some("uninitialised memory")),
            ("all", "copy", Some("uninitialised memory")),
            ("synchronisation", "all_write", None),
            ("races", "all_write", Some("race")),
        ] {
            let wanted = if part.is_some() { "719" } else { "0" };
            let variables =
                [("EMULATED_GPU_CHECKS", checks), ("KERNEL", kernel), ("WANTED", wanted)];
            let text = run_child!(&variables);
            assert!(part.is_none_or(|part| text.contains(part)), "no {part:?} in:\n{text}");
        }
        return;
    }
    context();
    let (to, from) = (allocate(4), allocate(4));
    let kernel = std::env::var("KERNEL").unwrap();
    let wanted: u32 = std::env::var("WANTED").unwrap().parse().unwrap();
    let parameters = [to, from];
    let count = if kernel == "copy" { 2 } else { 1 };
    // The copy uses one block of one thread, so there is no race.
    let function = function(module(&faulty_kernels()), &kernel);
    let blocks = if kernel == "copy" { 1 } else { 64 };
    assert_eq!(launch(function, (blocks, 1), 0, &parameters[..count]), 0);
    returns!(wanted, cuCtxSynchronize());
}

#[test]
fn every_kind_of_write_initialises_memory() {
    in_child!(&[("EMULATED_GPU_CHECKS", "initialisation")]);
    let _context = own_context();
    let copy = function(module(&faulty_kernels()), "copy");
    let (to, from, third) = (allocate(4), allocate(4), allocate(4));
    let value = 1u32;
    let read_it = |from: u64| {
        assert_eq!(launch(copy, (1, 1), 0, &[to, from]), 0);
        ok!(cuCtxSynchronize());
    };
    ok!(cuMemcpyHtoD_v2(from, &raw const value, 4usize));
    read_it(from);
    ok!(cuMemcpyDtoD_v2(third, from, 4usize));
    read_it(third);
    // The memory may also be initialised by a kernel.
    read_it(to);
    let filled = allocate(4);
    ok!(cuMemsetD8_v2(filled, 0u8, 4usize));
    read_it(filled);
    let managed = output!(cuMemAllocManaged(-> u64, 4usize, 1u32));
    read_it(managed);
}

#[test]
fn each_fault_is_added_to_the_file_of_faults_as_a_line_of_json() {
    let path =
        std::env::temp_dir().join(format!("emulated-cuda-faults-{}.jsonl", std::process::id()));
    if !is_child() {
        let text = run_child!(&[("EMULATED_GPU_FAULTS", path.to_str().unwrap())]);
        let json = std::fs::read_to_string(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        let faults: Vec<serde_json::Value> =
            json.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(faults.len(), 2, "one for each context, the first: {json}");
        let [kernel, trap] = faults.as_slice() else { unreachable!() };
        assert_eq!(kernel["kind"], "misaligned address");
        assert_eq!(kernel["kernel"], "misaligned");
        assert_eq!(kernel["thread"], serde_json::json!([0, 0, 0]));
        let line = kernel["ptx"]["text"].as_str().unwrap();
        assert!(line.contains("ld.global.u32"), "{line}");
        assert!(kernel["cuda"].is_null());
        for fault in [kernel, trap] {
            assert!(text.contains(fault["report"].as_str().unwrap().lines().next().unwrap()));
        }
        assert_eq!(trap["kind"], "trap");
        return;
    }
    for (name, parameters) in [("misaligned", true), ("trapped", false)] {
        let _context = own_context();
        let block = allocate(64);
        let parameters = if parameters { vec![block] } else { vec![] };
        assert_ne!(error_of(name, &parameters), 0);
    }
}

#[test]
fn leaks_and_counts_are_reported_at_exit() {
    let path =
        std::env::temp_dir().join(format!("emulated-cuda-counts-{}.json", std::process::id()));
    if !is_child() {
        let file = path.to_str().unwrap();
        let text = run_child!(&[("EMULATED_GPU_LEAKS", "1"), ("EMULATED_GPU_STATISTICS", file)]);
        assert!(text.contains("256 bytes in 1 allocation were never freed"), "{text}");
        let json = std::fs::read_to_string(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        let json: serde_json::Value = serde_json::from_str(&json).unwrap();
        assert!(json["device"].as_str().unwrap().starts_with("Emulated GPU ("));
        let kernel = &json["kernels"][0];
        assert_eq!((&kernel["kernel"], &kernel["launches"]), (&"increment".into(), &3.into()));
        assert_eq!((&kernel["blocks"], &kernel["warps"]), (&6.into(), &12.into()));
        // Each of 4 warps loads and stores 4 whole sectors, in each of 3 launches.
        assert_eq!(kernel["global_requests"], 24);
        assert_eq!(kernel["global_sectors"], 96);
        return;
    }
    context();
    let increment = function(module(INCREMENT), "increment");
    let (kept, freed) = (allocate(256), allocate(512));
    for _ in 0..3 {
        assert_eq!(launch(increment, (2, 64), 0, &[freed, 128]), 0);
    }
    ok!(cuMemFree_v2(freed));
    assert_ne!(kept, 0);
}

#[test]
fn memory_freed_with_its_context_is_a_leak() {
    if !is_child() {
        let text = run_child!(&[("EMULATED_GPU_LEAKS", "1")]);
        let actual = text.matches("300 bytes in 2 allocations were never freed").count();
        assert_eq!(actual, 1, "{text}");
        assert!(!text.contains("all memory was freed"), "{text}");
        let text = run_child!(&[("EMULATED_GPU_LEAKS", "1"), ("FREED", "1")]);
        assert!(text.contains("all memory was freed"), "{text}");
        return;
    }
    let _context = own_context();
    let blocks = [allocate(100), allocate(200)];
    if std::env::var_os("FREED").is_some() {
        for block in blocks {
            ok!(cuMemFree_v2(block));
        }
    }
}

#[test]
fn failed_calls_are_logged() {
    if !is_child() {
        let text = run_child!(&[("CUDA_LOG_FILE", "stderr")]);
        let line = "[cuMemAlloc_v2] CUDA_ERROR_INVALID_VALUE (invalid argument): 0 bytes can't be allocated";
        assert!(text.contains(line), "{text}");
        return;
    }
    context();
    let mut address = 0u64;
    returns!(code::INVALID_VALUE, cuMemAlloc_v2(&raw mut address, 0usize));
}
