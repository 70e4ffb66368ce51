//! Instructions in which lanes see each other, and barriers of a block.

use super::bench::each_thread;

#[test]
fn a_sum_by_shuffles() {
    let out = each_thread(
        32,
        ".reg .b32 %o;",
        "mov.u32 %r0, %tid.x;\n\
         shfl.sync.bfly.b32 %o, %r0, 16, 31, -1;\nadd.u32 %r0, %r0, %o;\n\
         shfl.sync.bfly.b32 %o, %r0, 8, 31, -1;\nadd.u32 %r0, %r0, %o;\n\
         shfl.sync.bfly.b32 %o, %r0, 4, 31, -1;\nadd.u32 %r0, %r0, %o;\n\
         shfl.sync.bfly.b32 %o, %r0, 2, 31, -1;\nadd.u32 %r0, %r0, %o;\n\
         shfl.sync.bfly.b32 %o, %r0, 1, 31, -1;\nadd.u32 %r0, %r0, %o;",
    );
    assert_eq!(out, vec![496; 32]);
}

#[test]
fn votes_matches_reductions_and_elections() {
    let vote = |instruction: &str| {
        each_thread(
            32,
            ".reg .b32 %t, %v;\n.reg .pred %q, %s;",
            &format!(
                "mov.u32 %t, %tid.x;\nsetp.lt.u32 %q, %t, 4;\nand.b32 %v, %t, 1;\n{instruction}"
            ),
        )
    };
    assert_eq!(vote("vote.sync.ballot.b32 %r0, %q, -1;"), [15; 32]);
    assert_eq!(vote("vote.sync.ballot.b32 %r0, !%q, -1;"), [!15; 32]);
    assert_eq!(vote("vote.sync.any.pred %s, %q, -1; selp.u32 %r0, 1, 0, %s;"), [1; 32]);
    assert_eq!(vote("vote.sync.all.pred %s, %q, -1; selp.u32 %r0, 1, 0, %s;"), [0; 32]);
    assert_eq!(vote("redux.sync.add.u32 %r0, %t, -1;"), [496; 32]);
    assert_eq!(vote("redux.sync.max.s32 %r0, %t, -1;"), [31; 32]);
    let matched = vote("match.any.sync.b32 %r0, %v, -1;");
    assert_eq!((matched[0], matched[1]), (0x5555_5555, 0xaaaa_aaaa));
    assert_eq!(vote("match.all.sync.b32 %r0|%s, %v, -1; selp.u32 %r0, 7, 8, %s;"), [8; 32]);
    let elected = vote("elect.sync _|%s, -1; selp.u32 %r0, 1, 0, %s;");
    assert_eq!((elected[0], elected.iter().sum::<u32>()), (1, 1));
}

#[test]
fn halves_of_a_warp_meet_at_different_instructions() {
    // The same collective stands in both branches; the lanes exchange all the same.
    let out = each_thread(
        32,
        ".reg .b32 %t;\n.reg .pred %q;",
        "mov.u32 %t, %tid.x;\nsetp.lt.u32 %q, %t, 16;\n@%q bra LOW;\n\
         shfl.sync.bfly.b32 %r0, %t, 16, 31, -1;\nbra END;\n\
         LOW: add.u32 %t, %t, 100;\nshfl.sync.bfly.b32 %r0, %t, 16, 31, -1;\nEND:",
    );
    let expected: Vec<u32> = (0..32).map(|t| if t < 16 { t + 16 } else { t - 16 + 100 }).collect();
    assert_eq!(out, expected);
}

#[test]
fn a_subset_of_the_lanes_takes_part() {
    let out = each_thread(
        32,
        ".reg .b32 %t;\n.reg .pred %q;",
        "mov.u32 %t, %tid.x;\nmov.u32 %r0, 0;\nsetp.lt.u32 %q, %t, 8;\n\
         @%q redux.sync.add.u32 %r0, %t, 255;",
    );
    let expected: Vec<u32> = (0..32).map(|t| if t < 8 { 28 } else { 0 }).collect();
    assert_eq!(out, expected);
}

#[test]
fn barriers_order_warps_and_reduce_over_them() {
    let out = each_thread(
        128,
        ".shared .align 4 .b32 box[128];\n.reg .b32 %t, %a, %n;\n.reg .pred %q;",
        "mov.u32 %t, %tid.x;\nmov.u32 %a, box;\nmad.lo.u32 %a, %t, 4, %a;\nst.shared.u32 [%a], %t;\n\
         bar.sync 1;\nmov.u32 %a, box;\nxor.b32 %n, %t, 96;\nmad.lo.u32 %a, %n, 4, %a;\n\
         ld.shared.u32 %r0, [%a];\nsetp.lt.u32 %q, %t, 50;\nbar.red.popc.u32 %n, 0, %q;\n\
         mad.lo.u32 %r0, %n, 1000, %r0;",
    );
    let expected: Vec<u32> = (0..128).map(|t| 50_000 + (t ^ 96)).collect();
    assert_eq!(out, expected);
}

#[test]
fn producers_arrive_and_consumers_wait() {
    let out = each_thread(
        64,
        ".shared .align 4 .b32 n;\n.reg .b32 %t;\n.reg .pred %q;",
        "mov.u32 %t, %tid.x;\nmov.u32 %r0, 0;\nsetp.lt.u32 %q, %t, 32;\n@%q bra CONSUME;\n\
         st.shared.u32 [n], 42;\nbar.arrive 3, 64;\nbra END;\n\
         CONSUME: bar.sync 3, 64;\nld.shared.u32 %r0, [n];\nEND:",
    );
    assert_eq!(out, [vec![42; 32], vec![0; 32]].concat());
}

#[test]
fn lanes_may_name_barriers_of_their_own() {
    // Odd lanes of both warps meet at barrier 3, even ones at 2; each counts its own 32.
    let out = super::bench::each_thread(
        64,
        ".shared .align 4 .b32 n[2];\n.reg .b32 %t, %a, %b, %odd;\n.reg .pred %q;",
        "mov.u32 %t, %tid.x;\nand.b32 %odd, %t, 1;\nsetp.lt.u32 %q, %t, 2;\nmov.u32 %a, n;\n\
         shl.b32 %b, %odd, 2;\nadd.u32 %a, %a, %b;\n@%q st.shared.u32 [%a], 0;\nbar.sync 0;\n\
         red.shared.add.u32 [%a], 1;\nadd.u32 %b, %odd, 2;\nbarrier.sync %b, 32;\n\
         ld.shared.u32 %r0, [%a];",
    );
    assert_eq!(out, [32; 64]);
}
