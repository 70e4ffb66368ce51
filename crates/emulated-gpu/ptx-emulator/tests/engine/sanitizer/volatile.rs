//! racecheck: volatile data doesn't order other accesses, but a volatile flag that a loop waits for
//! does.

use ptx_emulator::FaultKind;

use super::racecheck::{assert_only_faulty_races, device, run};

/// Each thread stores its word and loads the word of the mirrored thread.
fn mirrored(space: &str, between: &str) -> String {
    let address = match space {
        "shared" => "mov.u32 %a, s; cvt.u64.u32 %x, %a;",
        _ => "mov.u64 %x, %p0;",
    };
    format!(
        "{address} mov.u64 %y, %x; mul.wide.u32 %x, %t, 4; add.u64 %x, %x, %y; \
         st.volatile.{space}.u32 [%x], %t; {between} mov.u32 %c, %ntid.x; sub.u32 %c, %c, %t; \
         sub.u32 %c, %c, 1; mul.wide.u32 %x, %c, 4; add.u64 %x, %x, %y; \
         ld.volatile.{space}.u32 %v, [%x];"
    )
}

#[test]
fn volatile_data_needs_a_barrier() {
    for space in ["shared", "global"] {
        assert_only_faulty_races((1, 64), &mirrored(space, ""), &mirrored(space, "bar.sync 0;"));
        // A fence is not a barrier.
        assert_only_faulty_races(
            (1, 64),
            &mirrored(space, "membar.gl;"),
            &mirrored(space, "bar.sync 0;"),
        );
        // Lanes of a warp, as in old reductions over 32 threads.
        assert_only_faulty_races(
            (1, 32),
            &mirrored(space, ""),
            &mirrored(space, "bar.warp.sync -1;"),
        );
    }
    let fault = run(&device(1), (1, 64), &mirrored("shared", "")).unwrap_err();
    let report = fault.to_string();
    for part in [
        "both are volatile",
        "(PTX ISA, Memory Consistency Model, \"volatile Operation\")",
        "racecheck does not report a volatile load on which a loop polls",
    ] {
        assert!(report.contains(part), "{part}\n{report}");
    }
}

#[test]
fn a_volatile_update_is_not_atomic() {
    let faulty =
        "ld.volatile.global.u32 %w, [%p0]; add.u32 %w, %w, 1; st.volatile.global.u32 [%p0], %w;";
    for shape in [(1, 64), (1, 32), (64, 1)] {
        assert_only_faulty_races(shape, faulty, "red.global.add.u32 [%p0], 1;");
    }
    // Each thread repeats the update until the sum has reached a limit, so the sum also ends the
    // loop.
    let until =
        |update: &str| format!("A: {update} add.u32 %c, %w, 0; setp.lt.u32 %q, %c, 9; @%q bra A;");
    assert_only_faulty_races((1, 64), &until(faulty), &until("atom.global.add.u32 %w, [%p0], 1;"));
    // Stores by several blocks.
    let store = "st.volatile.global.u32 [%p0], %b;";
    assert_only_faulty_races((4, 1), store, &format!("setp.eq.u32 %q, %b, 2; @%q {store}"));
}

#[test]
fn a_volatile_flag_that_a_loop_waits_for_orders_with_fences() {
    let body = |fence: &str, wait: &str| {
        format!(
            "setp.eq.u32 %q, %b, 0; @%q bra SET; {wait} {fence} ld.volatile.global.u32 %v, [%p0+4]; \
             bra END; SET: st.volatile.global.u32 [%p0+4], 7; {fence} \
             st.volatile.global.u32 [%p0], 1; END:"
        )
    };
    let spin = "A: ld.volatile.global.u32 %w, [%p0]; setp.eq.u32 %q, %w, 0; @%q bra A;";
    assert_only_faulty_races((2, 1), &body("", spin), &body("membar.gl;", spin));
    // The flag is read once, without a loop.
    assert_only_faulty_races(
        (2, 1),
        &body("membar.gl;", &spin.replace("@%q bra A;", "")),
        &body("membar.gl;", spin),
    );
}

#[test]
fn volatile_and_atomic_accesses_do_not_race() {
    // A lock that is acquired with compare-and-swap, and released with a volatile store.
    let lock = "A: atom.global.cas.b32 %w, [%p0], 0, 1; setp.ne.u32 %q, %w, 0; @%q bra A; membar.gl; \
                ld.global.u32 %v, [%p0+4]; add.u32 %v, %v, 1; st.global.u32 [%p0+4], %v; membar.gl; \
                st.volatile.global.u32 [%p0], 0;";
    if let Err(fault) = run(&device(2), (8, 1), lock) {
        panic!("{fault}");
    }
    // Each thread reads the maximum, and updates it atomically only if its own number is larger.
    let bound = "ld.volatile.global.u32 %w, [%p0]; setp.ge.u32 %q, %w, %b; @%q bra END; \
                 red.global.max.u32 [%p0], %b; END:";
    if let Err(fault) = run(&device(2), (8, 1), bound) {
        panic!("{fault}");
    }
    let weak = run(&device(1), (8, 1), &bound.replace(".volatile", "")).unwrap_err();
    assert_eq!(weak.kind, FaultKind::Race);
}
