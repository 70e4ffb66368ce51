//! Tests that impossible sizes and counts, which a program chooses, are rejected with a reason.

use ptx_emulator::memory::Heap;
use ptx_emulator::{Checks, Emulator, FaultKind, Launch, RunOptions};

use crate::ptx::{emulator, kernel, kernel_with, launch, load, read, run, words};

/// The declarations of `malloc` and `free`.
const DECLARED: &str = ".extern .func (.param .b64 r) malloc(.param .b64 a);\n\
                        .extern .func free(.param .b64 a);\n";

/// A kernel in which each thread calls `malloc(bytes)` `times` times and counts the successes in `p0[thread]`.
/// It writes to each block and, if `frees` is set, frees it.
fn allocating(bytes: u64, times: u32, frees: bool) -> String {
    let free = if frees { "st.param.b64 [size], %a;\ncall.uni free, (size);" } else { "" };
    kernel_with(
        DECLARED,
        1,
        &format!(
            ".param .b64 size;\n.param .b64 pointer;\n.reg .b64 %a, %o;\n.reg .b32 %i, %t;\n\
             .reg .pred %q;\nmov.u32 %i, 0;\nmov.u32 %t, %tid.x;\nmul.wide.u32 %o, %t, 4;\n\
             add.u64 %o, %o, %p0;\nL: st.param.b64 [size], {bytes};\n\
             call (pointer), malloc, (size);\nld.param.b64 %a, [pointer];\n\
             setp.eq.u64 %q, %a, 0;\n@%q bra E;\nst.u8 [%a], 1;\n{free}\nadd.u32 %i, %i, 1;\n\
             setp.lt.u32 %q, %i, {times};\n@%q bra L;\nE: st.global.u32 [%o], %i;\nret;"
        ),
    )
}

fn checked() -> Emulator {
    let checks = Checks { initialisation: true, races: true, synchronisation: true };
    Emulator::new(RunOptions { checks, ..RunOptions::default() })
}

#[test]
fn allocations_of_kernels_are_limited_by_the_heap() {
    for emulator in [emulator(), checked()] {
        let out = words(&emulator, &[0]);
        // Seven blocks of 1 MiB fit, because each block has some overhead; a block that is larger than the heap doesn't
        // fit.
        for (bytes, given) in [(1 << 20, 7), (9 << 20, 0), (1 << 46, 0), (u64::MAX, 0)] {
            emulator.memory().end_heap(0);
            launch(&emulator, &allocating(bytes, 300, false), ([1; 3], [1; 3]), &[out]).unwrap();
            assert_eq!(read(&emulator, out, 1), [given], "{bytes}");
        }
    }
}

#[test]
fn freed_memory_of_a_kernel_is_reused() {
    for emulator in [emulator(), checked()] {
        let out = words(&emulator, &[0; 64]);
        let text = allocating(100_000, 2000, true);
        launch(&emulator, &text, ([1; 3], [64, 1, 1]), &[out]).unwrap();
        assert_eq!(read(&emulator, out, 64), [2000; 64]);
        assert!(emulator.memory().leaks().iter().all(|leak| leak.address == out));
    }
}

#[test]
fn small_blocks_of_many_threads_fit() {
    let text = allocating(64, 32, false);
    let [out] = run(&text, ([1; 3], [1024, 1, 1]), [&[0; 1024]]).unwrap();
    assert_eq!(out, [32; 1024]);
}

#[test]
fn every_owner_has_its_own_heap() {
    let emulator = emulator();
    let out = words(&emulator, &[0]);
    let kernel = load(&emulator, &allocating(1000, 100_000, false)).kernel("k").unwrap();
    let mut launch = Launch {
        grid: [1; 3],
        block: [1; 3],
        parameters: out.to_le_bytes().into(),
        ..Launch::default()
    };
    for (owner, bytes, given) in [(1, 10_240, 10), (2, 102_400, 100), (1, 1 << 30, 0), (3, 0, 0)] {
        launch.heap = Heap { owner, bytes, device: 0 };
        emulator.launch(&kernel, &launch).unwrap();
        assert_eq!(read(&emulator, out, 1), [given], "{owner}");
    }
    assert!(emulator.memory().has_heap(1) && !emulator.memory().has_heap(9));
    assert_eq!(emulator.memory().heap_allocations(2).len(), 100);
    emulator.memory().end_heap(2);
    assert!(
        emulator.memory().heap_allocations(2).is_empty()
            && emulator.memory().heap_allocations(1).len() == 10
    );
}

#[test]
fn a_kernel_can_only_free_allocations_of_kernels() {
    let emulator = emulator();
    let text = kernel_with(
        DECLARED,
        1,
        ".param .b64 size;\nst.param.b64 [size], %p0;\ncall.uni free, (size);\nret;",
    );
    let own = words(&emulator, &[7; 4]);
    let fault = launch(&emulator, &text, ([1; 3], [1; 3]), &[own]).unwrap_err();
    assert_eq!(fault.kind, FaultKind::IllegalAddress);
    assert!(fault.message.contains("no allocation of a kernel"), "{fault}");
    assert_eq!(read(&emulator, own, 4), [7; 4]);
}

#[test]
fn a_use_after_free_of_heap_memory_is_reported() {
    let emulator = emulator();
    let text = kernel_with(
        DECLARED,
        0,
        ".param .b64 size;\n.param .b64 pointer;\n.reg .b64 %a;\nst.param.b64 [size], 64;\n\
         call (pointer), malloc, (size);\nld.param.b64 %a, [pointer];\nst.param.b64 [size], %a;\n\
         call free, (size);\nst.global.u8 [%a+3], 1;\nret;",
    );
    let fault = launch(&emulator, &text, ([1; 3], [1; 3]), &[]).unwrap_err();
    assert_eq!(fault.kind, FaultKind::UseAfterFree);
    assert!(fault.notes[0].contains("3 bytes into an allocation of 64 bytes"), "{fault}");
}

#[test]
fn huge_shapes_are_rejected_or_run() {
    let emulator = emulator();
    for limit in [".maxntid 4294967295,4294967295,4294967295", ".maxntid 65536,65536,1"] {
        let text = kernel(0, "ret;").replace("\n{\n", &format!("\n{limit}\n{{\n"));
        let kernel = load(&emulator, &text).kernel("k").unwrap();
        let shaped = |grid, block| Launch { grid, block, ..Launch::default() };
        emulator.launch(&kernel, &shaped([1; 3], [1024, 1, 1])).unwrap();
        for launch in [
            shaped([u32::MAX; 3], [u32::MAX; 3]),
            shaped([1; 3], [u32::MAX; 3]),
            shaped([u32::MAX; 3], [1; 3]),
        ] {
            let fault = emulator.launch(&kernel, &launch).unwrap_err();
            assert_eq!(fault.kind, FaultKind::InvalidLaunch);
        }
    }
}

#[test]
fn cooperative_blocks_that_do_not_fit_into_memory_are_rejected() {
    // Each block needs 16 MiB of local memory: 512 KiB for each of its 32 threads.
    let emulator = Emulator::new(RunOptions { memory: Some(1 << 30), ..RunOptions::default() });
    let text = kernel(
        0,
        ".local .b8 a[524288];\n.reg .b64 %d;\nmov.u64 %d, a;\nst.local.u8 [%d], 1;\nret;",
    );
    let kernel = load(&emulator, &text).kernel("k").unwrap();
    let launch = |blocks| Launch {
        grid: [blocks, 1, 1],
        block: [32, 1, 1],
        cooperative: true,
        ..Launch::default()
    };
    emulator.launch(&kernel, &launch(4)).unwrap();
    assert!(8000 * 32 * u64::from(kernel.local_bytes()) >= 8000 << 24);
    let fault = emulator.launch(&kernel, &launch(8000)).unwrap_err();
    assert_eq!(fault.kind, FaultKind::OutOfMemory);
    assert!(fault.message.contains("8000 resident blocks"), "{fault}");
    assert!(fault.message.contains("524288 bytes of local memory"), "{fault}");
}

#[test]
fn the_instruction_limit_is_checked_in_every_iteration() {
    let emulator =
        Emulator::new(RunOptions { instruction_limit: Some(5000), ..RunOptions::default() });
    // The loop body is long. If the limit were not checked in each iteration, far more instructions would run.
    let body = "add.u32 %a, %a, 1;\n".repeat(1000);
    let text = kernel(0, &format!(".reg .b32 %a;\nmov.u32 %a, 0;\nL: {body}bra L;"));
    let fault = launch(&emulator, &text, ([1; 3], [1; 3]), &[]).unwrap_err();
    assert_eq!(fault.kind, FaultKind::Runaway);
    let executed: u64 = fault.message.split_whitespace().nth(3).unwrap().parse().unwrap();
    assert!((5001..=6002).contains(&executed), "{fault}");
}

#[test]
fn huge_allocations_are_made_or_rejected() {
    let limited = Emulator::new(RunOptions { memory: Some(1 << 20), ..RunOptions::default() });
    for emulator in [emulator(), checked(), limited] {
        let memory = emulator.memory();
        for size in [1 << 62, i64::MAX as u64, u64::MAX - 4096, u64::MAX] {
            assert_eq!(memory.allocate(size, 256).unwrap_err().size, size);
        }
        assert!(memory.allocate(8, 257).is_err() && memory.allocate(8, 1 << 63).is_err());
    }
}

#[test]
fn variables_count_towards_the_device_memory() {
    let emulator = Emulator::new(RunOptions { memory: Some(1 << 20), ..RunOptions::default() });
    let text = |bytes: u64| kernel_with(&format!(".global .b8 v[{bytes}];\n"), 0, "ret;");
    let loaded = load(&emulator, &text(1_000_000));
    assert_eq!(emulator.memory().variable_bytes(0), 1_000_000);
    assert!(emulator.memory().allocate(100_000, 4).is_err());
    drop(loaded);
    assert_eq!(emulator.memory().variable_bytes(0), 0);
    for bytes in [2_000_000, 1 << 35] {
        let source = ptx_emulator::source::Source { name: "k.ptx".into(), text: text(bytes) };
        let refused = emulator.load(source).unwrap_err();
        assert!(refused.iter().all(|one| one.out_of_memory), "{}", refused[0]);
    }
}

#[test]
fn shared_memory_has_its_declared_size() {
    let emulator = emulator();
    let out = words(&emulator, &[1]);
    let text = |at: u32| {
        kernel(
            1,
            &format!(
                ".shared .align 4 .b8 s[40];\n.reg .b32 %r;\nld.shared.u32 %r, [s+{at}];\n\
                 st.global.u32 [%p0], %r;\nret;"
            ),
        )
    };
    assert_eq!(load(&emulator, &text(36)).kernel("k").unwrap().static_shared(), 40);
    launch(&emulator, &text(36), ([1; 3], [1; 3]), &[out]).unwrap();
    assert_eq!(read(&emulator, out, 1), [0]);
    let fault = launch(&emulator, &text(40), ([1; 3], [1; 3]), &[out]).unwrap_err();
    assert_eq!(fault.kind, FaultKind::IllegalAddress);
}
