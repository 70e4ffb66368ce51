//! Divergence and reconvergence.

use crate::ptx::{each_thread, emulator, kernel, launch, run};

/// Steps of the hailstone sequence to 1: every lane has a different number of iterations.
fn hailstone(mut n: u32) -> u32 {
    let mut steps = 0;
    while n != 1 {
        n = if n % 2 == 1 { 3 * n + 1 } else { n / 2 };
        steps += 1;
    }
    steps
}

#[test]
fn lanes_can_have_different_trip_counts_and_nested_branches() {
    let out = each_thread(
        100,
        ".reg .b32 %n, %odd;\n.reg .pred %q, %one;",
        "mov.u32 %n, %tid.x;\nadd.u32 %n, %n, 1;\nmov.u32 %r0, 0;\n\
         LOOP: setp.eq.u32 %one, %n, 1;\n@%one bra DONE;\n\
         and.b32 %odd, %n, 1;\nsetp.eq.u32 %q, %odd, 1;\n@%q bra ODD;\n\
         shr.u32 %n, %n, 1;\nbra NEXT;\n\
         ODD: mad.lo.u32 %n, %n, 3, 1;\n\
         NEXT: add.u32 %r0, %r0, 1;\nbra LOOP;\nDONE:",
    );
    let expected: Vec<u32> = (1..=100).map(hailstone).collect();
    assert_eq!(out, expected);
}

#[test]
fn lanes_reconverge_after_a_branch() {
    // After the branch the lanes have reconverged, so activemask is full.
    let out = each_thread(
        32,
        ".reg .b32 %t;\n.reg .pred %q;",
        "mov.u32 %t, %tid.x;\nsetp.lt.u32 %q, %t, 7;\n@%q bra LOW;\n\
         add.u32 %t, %t, 1;\nbra JOIN;\nLOW: add.u32 %t, %t, 2;\nJOIN: activemask.b32 %r0;",
    );
    assert_eq!(out, vec![u32::MAX; 32]);
}

#[test]
fn an_early_exit_does_not_affect_other_lanes() {
    let out = each_thread(
        64,
        ".reg .b32 %t;\n.reg .pred %q;",
        "mov.u32 %t, %tid.x;\nand.b32 %r0, %t, 3;\nsetp.eq.u32 %q, %r0, 2;\n@%q exit;\nbar.sync 0;\nmul.lo.u32 %r0, %t, 10;",
    );
    for (thread, value) in out.into_iter().enumerate() {
        let expected = if thread % 4 == 2 { 0xdead_beef } else { thread as u32 * 10 };
        assert_eq!(value, expected, "thread {thread}");
    }
}

#[test]
fn lanes_can_take_different_targets_of_a_branch_table() {
    let out = each_thread(
        32,
        ".reg .b32 %t;",
        "mov.u32 %t, %tid.x;\nand.b32 %t, %t, 3;\nts: .branchtargets A, B, C, D;\nbrx.idx %t, ts;\n\
         A: mov.u32 %r0, 10;\nbra E;\nB: mov.u32 %r0, 11;\nbra E;\n\
         C: mov.u32 %r0, 12;\nbra E;\nD: mov.u32 %r0, 13;\nE:",
    );
    let expected: Vec<u32> = (0..32).map(|t| 10 + t % 4).collect();
    assert_eq!(out, expected);
}

#[test]
fn a_lane_that_spins_on_another_of_its_warp_does_not_starve_it() {
    // One after the other, the lanes of a warp acquire a lock, add one, and release it.
    let text = kernel(
        2,
        ".reg .b32 %old, %n;\n.reg .pred %q;\n\
         SPIN: atom.global.cas.b32 %old, [%p0], 0, 1;\nsetp.ne.u32 %q, %old, 0;\n@%q bra SPIN;\n\
         ld.volatile.global.u32 %n, [%p1];\nadd.u32 %n, %n, 1;\nst.volatile.global.u32 [%p1], %n;\n\
         membar.gl;\natom.global.exch.b32 %old, [%p0], 0;\nret;",
    );
    let [_, count] = run(&text, ([3, 1, 1], [64, 1, 1]), [&[0], &[0]]).unwrap();
    assert_eq!(count, [192]);
}

#[test]
fn instructions_are_counted_with_the_lanes_that_reach_them() {
    let emulator = emulator();
    let text = kernel(0, ".reg .b32 %r<2>;\nmov.u32 %r0, 1;\nadd.u32 %r1, %r0, 1;\nret;");
    let statistics = launch(&emulator, &text, ([5, 1, 1], [48, 1, 1]), &[]).unwrap();
    assert_eq!((statistics.blocks, statistics.warps), (5, 10));
    assert_eq!((statistics.warp_instructions, statistics.thread_instructions), (30, 5 * 48 * 3));
}
