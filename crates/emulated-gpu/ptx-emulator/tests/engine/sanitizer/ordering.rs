//! racecheck: ordering by fences, flags, counters and compare-and-swap, without a barrier of the block. For each there
//! is a faulty kernel, and a clean one that must not be flagged.

use ptx_emulator::{Emulator, FaultKind, Launch};

use super::racecheck::{HEAD, assert_only_faulty_races, device, devices, launch, run};
use crate::ptx::{kernel_with, load, words};

/// The last block to finish reads the results of all others (NVIDIA's sample threadFenceReduction).
fn last_block(fence: &str, after: &str) -> String {
    format!(
        "mul.wide.u32 %x, %b, 4; add.u64 %x, %x, %p0; setp.ne.u32 %q, %t, 0; @%q bra WAIT; \
         st.global.u32 [%x], 1; {fence} atom.global.add.u32 %w, [%p0+512], 1; \
         st.shared.u32 [s], %w; WAIT: {after} bar.sync 0; ld.shared.u32 %w, [s]; \
         mov.u32 %a, %nctaid.x; sub.u32 %a, %a, 1; setp.ne.u32 %q, %w, %a; @%q bra END; \
         rem.u32 %a, %t, %a; mul.wide.u32 %x, %a, 4; add.u64 %x, %x, %p0; \
         ld.global.u32 %v, [%x]; END:"
    )
}

#[test]
fn a_fence_before_the_ticket_orders_the_last_block() {
    assert_only_faulty_races((6, 64), &last_block("", ""), &last_block("membar.gl;", ""));
    assert_only_faulty_races(
        (6, 64),
        &last_block("fence.acq_rel.cta;", ""),
        &last_block("fence.sc.gpu;", ""),
    );
    // A release on the ticket itself is enough.
    let faulty = last_block("", "").replace("atom.global", "atom.acquire.gpu.global");
    let clean = last_block("", "").replace("atom.global", "atom.acq_rel.gpu.global");
    assert_only_faulty_races((6, 64), &faulty, &clean);
    // The writing thread must execute the fence: lane 0's fence does not cover its neighbours' writes.
    let body = |barrier: &str| {
        format!(
            "mad.lo.u32 %a, %b, 32, %t; mul.wide.u32 %x, %a, 4; add.u64 %x, %x, %p0; \
             st.global.u32 [%x], 1; {barrier} setp.ne.u32 %q, %t, 0; @%q bra WAIT; membar.gl; \
             atom.global.add.u32 %w, [%p0+512], 1; membar.gl; setp.ne.u32 %u, %w, 1; @%u bra WAIT; \
             ld.global.u32 %v, [%p0+8]; ld.global.u32 %v, [%p0+136]; WAIT:"
        )
    };
    assert_only_faulty_races((2, 32), &body(""), &body("bar.sync 0;"));
    assert_only_faulty_races((2, 32), &body(""), &body("bar.warp.sync -1;"));
}

#[test]
fn release_and_acquire_of_a_flag_order_two_warps() {
    // Warp 0 writes data and a flag, and warp 1 spins on the flag.
    let body = |store: &str, load: &str| {
        format!(
            "setp.lt.u32 %q, %t, 32; @%q bra WRITE; SPIN: {load} setp.eq.u32 %q, %w, 0; \
             @%q bra SPIN; {} ld.shared.u32 %v, [s+4]; bra END; \
             WRITE: st.shared.u32 [%i+4], %t; bar.warp.sync -1; {store} END:",
            if load.contains("volatile") { "membar.cta;" } else { "" }
        )
    };
    let head = "setp.lt.u32 %q, %t, 1; @%q st.shared.u32 [s+256], 0; bar.sync 0;";
    let release = "setp.eq.u32 %u, %t, 0; @%u st.release.cta.shared.u32 [s+256], 1;";
    let acquire = "ld.acquire.cta.shared.u32 %w, [s+256];";
    let plain = "setp.eq.u32 %u, %t, 0; @%u st.shared.u32 [s+256], 1;";
    let clean = format!("{head} {}", body(release, acquire));
    assert_only_faulty_races((1, 64), &format!("{head} {}", body(plain, acquire)), &clean);
    let relaxed = release.replace("release", "relaxed");
    assert_only_faulty_races((1, 64), &format!("{head} {}", body(&relaxed, acquire)), &clean);
    let lazy = acquire.replace("acquire", "relaxed");
    assert_only_faulty_races((1, 64), &format!("{head} {}", body(release, &lazy)), &clean);
    // Volatile accesses are ordered by fences.
    let volatile = |fence: &str| {
        format!("setp.eq.u32 %u, %t, 0; {fence} @%u st.volatile.shared.u32 [s+256], 1;")
    };
    let load = "ld.volatile.shared.u32 %w, [s+256];";
    let clean = format!("{head} {}", body(&volatile("membar.cta;"), load));
    assert_only_faulty_races((1, 64), &format!("{head} {}", body(&volatile(""), load)), &clean);
}

/// A barrier of the whole grid, as in cooperative groups: thread 0 of each block counts, and all threads wait
/// for the count.
fn grid_barrier(fence: &str) -> String {
    format!(
        "bar.sync 0; setp.ne.u32 %q, %t, 0; @%q bra AFTER; mov.u32 %a, %nctaid.x; {fence} \
         red.global.add.u32 [%p0+1000], 1; SPIN: ld.volatile.global.u32 %w, [%p0+1000]; \
         setp.lt.u32 %u, %w, %a; @%u bra SPIN; {fence} AFTER: bar.sync 0;"
    )
}

#[test]
fn a_barrier_of_a_cooperative_grid_needs_fences() {
    let body = |barrier: &str| {
        format!(
            "mad.lo.u32 %w, %b, 64, %t; mul.wide.u32 %x, %w, 4; add.u64 %x, %x, %p0; \
             setp.lt.u32 %q, %w, 240; @%q st.global.u32 [%x], %b; {barrier} \
             sub.u32 %w, 63, %t; mul.wide.u32 %y, %w, 4; add.u64 %y, %y, %p0; \
             ld.global.u32 %v, [%y]; ld.global.u32 %v, [%y+256];"
        )
    };
    for emulator in devices() {
        let kind = |body: &str| launch(&emulator, (3, 64), body, true).map_err(|fault| fault.kind);
        assert_eq!(kind(&body("bar.sync 0;")), Err(FaultKind::Race));
        assert_eq!(kind(&body(&grid_barrier(""))), Err(FaultKind::Race));
        if let Err(fault) = launch(&emulator, (3, 64), &body(&grid_barrier("membar.gl;")), true) {
            panic!("{fault}");
        }
    }
}

#[test]
fn a_plain_load_that_a_compare_and_swap_checks_is_no_race() {
    // CUDA C++ Programming Guide, "Atomic Functions": addition by compare-and-swap.
    let body = |use_of_it: &str| {
        format!(
            "ld.global.u32 %v, [%p0+8]; add.u64 %x, %p0, 8; mov.u64 %y, %x; \
             AGAIN: mov.u32 %w, %v; add.u32 %c, %w, 1; {use_of_it} \
             setp.ne.u32 %q, %v, %w; @%q bra AGAIN;"
        )
    };
    let checked = body("atom.global.cas.b32 %v, [%y], %w, %c;");
    // With an atomic addition instead, nothing compares the loaded value.
    let kept = body("atom.global.add.u32 %a, [%y], 1;");
    // The addresses of the compare-and-swap and of the load differ.
    let elsewhere = checked.replace("%x, %p0, 8", "%x, %p0, 12") + "red.global.add.u32 [%p0+8], 1;";
    for shape in [(1, 32), (1, 64), (3, 32)] {
        assert_only_faulty_races(shape, &kept, &checked);
        assert_only_faulty_races(shape, &elsewhere, &checked);
    }
    let fault = run(&device(1), (1, 64), &kept).unwrap_err().to_string();
    assert!(fault.contains("the read is weak, the write strong"), "{fault}");
    assert!(fault.contains("\"Data-Races\""), "{fault}");
}

/// NVRTC's output without optimisation: the compare-and-swap is in a function that another function calls.
#[test]
fn a_plain_load_that_a_function_checks_by_compare_and_swap_is_no_race() {
    let functions = |address: &str| {
        format!(
            ".func (.param .b32 old) inner(.param .b64 at, .param .b32 compared, .param .b32 value)\n\
             {{\n.reg .b64 %a;\n.reg .b32 %c, %v;\nld.param.u64 %a, [at];\n\
             ld.param.u32 %c, [compared];\nld.param.u32 %v, [value];\n{address}\n\
             atom.cas.b32 %v, [%a], %c, %v;\nst.param.b32 [old], %v;\nret;\n}}\n\
             .func (.reg .b32 %old) outer(.reg .b32 %compared, .reg .b64 %at)\n\
             {{\n.reg .b32 %v;\nadd.u32 %v, %compared, 1;\n.param .b64 a;\n.param .b32 c, n, r;\n\
             st.param.b64 [a], %at;\nst.param.b32 [c], %compared;\nst.param.b32 [n], %v;\n\
             call (r), inner, (a, c, n);\nld.param.b32 %old, [r];\nret;\n}}\n"
        )
    };
    let body = format!(
        "{HEAD} ld.global.u32 %v, [%p0+8]; add.u64 %x, %p0, 8; AGAIN: mov.u32 %w, %v; \
         call (%v), outer, (%w, %x); setp.ne.u32 %q, %v, %w; @%q bra AGAIN; ret;"
    );
    let run = |emulator: &Emulator, address: &str| {
        let text = kernel_with(&functions(address), 1, &body);
        let kernel = load(emulator, &text).kernel("k").unwrap();
        let parameters = words(emulator, &[0; 64]).to_le_bytes().to_vec();
        let launch = Launch { grid: [2, 1, 1], block: [64, 1, 1], parameters, ..Launch::default() };
        emulator.launch(&kernel, &launch).map(|_| ())
    };
    for emulator in devices() {
        if let Err(fault) = run(&emulator, "") {
            panic!("{fault}");
        }
        // In the faulty kernel, the compare-and-swap uses another address, and an addition changes
        // the word that was loaded.
        let fault = run(&emulator, "red.add.u32 [%a], 1; add.u64 %a, %a, 8; mov.u32 %c, 0;");
        assert_eq!(fault.err().map(|fault| fault.kind), Some(FaultKind::Race));
    }
}

#[test]
fn the_last_block_may_reset_the_counter() {
    // This is the pattern of NVIDIA's sample threadFenceReduction. %v is the previous value of the
    // counter.
    let body = |which: &str| {
        format!(
            "setp.ne.u32 %q, %t, 0; @%q bra END; membar.gl; atom.global.inc.u32 %v, [%p0], 100; \
             setp.eq.u32 %q, %v, {which}; @%q st.global.u32 [%p0], 0; END:"
        )
    };
    // The first block isn't ordered after the others. The last block has observed them all.
    assert_only_faulty_races((4, 32), &body("0"), &body("3"));
    // A clean kernel in which another thread of the block resets the counter, ordered by a barrier.
    let other = "setp.ne.u32 %q, %t, 0; @%q bra WAIT; atom.global.inc.u32 %v, [%p0], 100; \
                 st.shared.u32 [s], %v; WAIT: bar.sync 0; ld.shared.u32 %v, [s]; \
                 setp.eq.u32 %q, %v, 3; setp.eq.and.u32 %q, %t, 33, %q; \
                 @%q st.global.u32 [%p0], 0;";
    assert_only_faulty_races((4, 64), &other.replace("bar.sync 0;", ""), other);
}

#[test]
fn the_reader_of_a_flag_may_reset_it() {
    let body = |load: &str| {
        format!(
            "setp.eq.u32 %q, %b, 0; @%q bra SET; AGAIN: {load} %v, [%p0]; setp.eq.u32 %q, %v, 0; \
             @%q bra AGAIN; st.global.u32 [%p0], 0; bra END; SET: st.volatile.global.u32 [%p0], 1; END:"
        )
    };
    assert_only_faulty_races((2, 1), &body("ld.global.u32"), &body("ld.volatile.global.u32"));
}
