//! Warp-wide collectives, and barriers of a block.

use crate::ptx::each_thread;

#[test]
fn shuffles_add_up_the_lanes_of_a_warp() {
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
fn votes_matches_reductions_and_elections_combine_all_lanes() {
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
fn a_collective_works_across_the_branches_of_a_warp() {
    // Both branches have the same collective, and the lanes exchange values across the branches.
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
fn a_collective_works_on_a_subset_of_lanes() {
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
fn lanes_of_a_warp_can_use_different_barriers() {
    // Odd lanes of both warps wait at barrier 3, even lanes at barrier 2, with 32 threads each.
    let out = crate::ptx::each_thread(
        64,
        ".shared .align 4 .b32 n[2];\n.reg .b32 %t, %a, %b, %odd;\n.reg .pred %q;",
        "mov.u32 %t, %tid.x;\nand.b32 %odd, %t, 1;\nsetp.lt.u32 %q, %t, 2;\nmov.u32 %a, n;\n\
         shl.b32 %b, %odd, 2;\nadd.u32 %a, %a, %b;\n@%q st.shared.u32 [%a], 0;\nbar.sync 0;\n\
         red.shared.add.u32 [%a], 1;\nadd.u32 %b, %odd, 2;\nbarrier.sync %b, 32;\n\
         ld.shared.u32 %r0, [%a];",
    );
    assert_eq!(out, [32; 64]);
}

#[test]
fn lanes_at_one_collective_form_groups_by_mask() {
    // Tiles of four lanes, each with its own mask, as cooperative groups compile to.
    let tiles = |instruction: &str| {
        each_thread(
            32,
            ".reg .b32 %t, %m, %x;\n.reg .pred %q, %s;",
            &format!(
                "mov.u32 %t, %tid.x;\nand.b32 %x, %t, 28;\nmov.u32 %m, 15;\nshl.b32 %m, %m, %x;\n\
                 and.b32 %x, %t, 5;\nsetp.eq.u32 %q, %x, 5;\n{instruction}"
            ),
        )
    };
    let each = |f: fn(u32) -> u32| (0..32).map(f).collect::<Vec<u32>>();
    // The segment mask of tiles of four is 0x1c.
    assert_eq!(tiles("shfl.sync.bfly.b32 %r0, %t, 3, 0x1c1f, %m;"), each(|t| t ^ 3));
    let actual = tiles("shfl.sync.down.b32 %r0, %t, 1, 0x1c1f, %m;");
    assert_eq!(actual, each(|t| t + u32::from(t % 4 < 3)));
    assert_eq!(tiles("shfl.sync.idx.b32 %r0, %t, 2, 0x1c1f, %m;"), each(|t| t / 4 * 4 + 2));
    // Lanes 5, 7, 13, 15, …: no lane in every other tile.
    let actual = tiles("vote.sync.ballot.b32 %r0, %q, %m;");
    assert_eq!(actual, each(|t| if t & 4 != 0 { 0b1010 << (t / 4 * 4) } else { 0 }));
    let actual = tiles("vote.sync.any.pred %s, %q, %m; selp.u32 %r0, 1, 0, %s;");
    assert_eq!(actual, each(|t| u32::from(t & 4 != 0)));
    assert_eq!(tiles("match.any.sync.b32 %r0, %x, %m;"), each(|t| 0b0101 << (t / 4 * 4 + t % 2)));
    assert_eq!(tiles("match.all.sync.b32 %r0|%s, %x, %m; selp.u32 %r0, 7, 8, %s;"), [8; 32]);
    assert_eq!(tiles("redux.sync.add.u32 %r0, %t, %m;"), each(|t| t / 4 * 16 + 6));
    let actual = tiles("elect.sync %r0|%s, %m; selp.u32 %r0, 99, %r0, %s;");
    assert_eq!(actual, each(|t| if t % 4 == 0 { 99 } else { t / 4 * 4 }));
    assert_eq!(tiles("bar.warp.sync %m; mov.u32 %r0, %m;"), each(|t| 15 << (t / 4 * 4)));
    // Run the collectives with a predicate that excludes whole tiles.
    assert_eq!(
        tiles(
            "mov.u32 %r0, 1; and.b32 %x, %t, 8; setp.ne.u32 %q, %x, 0; @%q redux.sync.max.u32 %r0, %t, %m;"
        ),
        each(|t| if t & 8 != 0 { t / 4 * 4 + 3 } else { 1 })
    );
}

#[test]
fn groups_do_not_wait_for_each_other() {
    // Lanes 16 to 23 arrive later, from another branch. They belong to the group of lanes 8 to 15.
    let out = each_thread(
        32,
        ".reg .b32 %t, %m;\n.reg .pred %q;",
        "mov.u32 %t, %tid.x;\nshr.u32 %m, %t, 3;\nsetp.eq.u32 %q, %m, 2;\n\
         mov.u32 %r0, 0x00ffff00;\nsetp.eq.u32 %q, %m, 0;\n@%q mov.u32 %r0, 0xff;\n\
         setp.eq.u32 %q, %m, 3;\n@%q mov.u32 %r0, 0xff000000;\nsetp.eq.u32 %q, %m, 2;\n\
         @%q bra LATE;\nredux.sync.add.u32 %r0, %t, %r0;\nbra END;\n\
         LATE: add.u32 %t, %t, 100;\nredux.sync.add.u32 %r0, %t, %r0;\nEND:",
    );
    let middle = (8..16).sum::<u32>() + (116..124).sum::<u32>();
    let expected: Vec<u32> = (0..32)
        .map(|t| match t / 8 {
            0 => 28,
            3 => (24..32).sum(),
            _ => middle,
        })
        .collect();
    assert_eq!(out, expected);
}
