//! synccheck: barriers that only a part of a warp reaches, member masks, shuffles from inactive lanes, and
//! infinite waits.

use ptx_emulator::{Checks, Emulator, Fault, FaultKind, RunOptions};

use crate::ptx::{kernel, launch};

fn run(body: &str, threads: u32) -> Result<(), Fault> {
    let checks = Checks { synchronisation: true, ..Checks::default() };
    let limit = Some(1_000_000);
    let emulator =
        Emulator::new(RunOptions { checks, instruction_limit: limit, ..RunOptions::default() });
    let head = ".reg .b32 %t, %v, %w;\n.reg .pred %q, %u;\nmov.u32 %t, %tid.x;\nmov.u32 %v, %t;";
    let text = kernel(0, &format!("{head}\n{body}\nret;"));
    launch(&emulator, &text, ([1; 3], [threads, 1, 1]), &[]).map(|_| ())
}

fn assert_only_faulty_reported(threads: u32, kind: FaultKind, faulty: &str, clean: &str) {
    let found = run(faulty, threads).err().map(|fault| fault.kind);
    assert_eq!(found, Some(kind), "{faulty}");
    if let Err(fault) = run(clean, threads) {
        panic!("{clean}\n{fault}");
    }
}

const HALF: &str = "setp.lt.u32 %q, %t, 16;";

#[test]
fn a_barrier_in_each_branch_is_reported() {
    let body = |barrier: &str| {
        format!("{HALF} @%q bra LOW; {barrier} bra END; LOW: {barrier} END: add.u32 %w, %t, 1;")
    };
    let warps = body("bar.sync 0;").replace("16;", "32;");
    assert_only_faulty_reported(64, FaultKind::BarrierDivergence, &body("bar.sync 0;"), &warps);
    // A barrier without .aligned may be in a branch.
    run(&body("barrier.sync 0;"), 32).unwrap();
}

#[test]
fn a_barrier_that_part_of_a_warp_skips_is_reported() {
    let faulty = format!("{HALF} @!%q bra SKIP; bar.sync 0; SKIP: add.u32 %w, %t, 1;");
    // The skipping lanes exit, so the barrier doesn't wait for them.
    let clean = format!("{HALF} @!%q bra END; bar.sync 0; add.u32 %w, %t, 1; END: ret;");
    assert_only_faulty_reported(32, FaultKind::BarrierDivergence, &faulty, &clean);
    let fault = run(&faulty, 32).unwrap_err();
    assert_eq!(fault.place.as_ref().map(|place| place.text.contains("bar.sync")), Some(true));
    assert!(
        fault.message.contains("lanes 0x0000ffff of a warp wait at this barrier; lanes 0xffff0000"),
        "{fault}"
    );
    // The other lanes reach the barrier by a detour through later code.
    let detour = format!(
        "{HALF} @%q bra FAR; HERE: bar.sync 0; bra END; FAR: add.u32 %w, %t, 1; bra HERE; END: ret;"
    );
    run(&detour, 32).unwrap();
}

#[test]
fn member_masks() {
    let body = |mask: u32| format!("shfl.sync.idx.b32 %v, %v, 0, 31, {mask};");
    let half = format!("{HALF} @%q {}", body(0xffff));
    assert_only_faulty_reported(32, FaultKind::BadMemberMask, &body(0xffff), &half);
    let vote = |mask: u32| format!("{HALF} vote.sync.ballot.b32 %w, %q, {mask};");
    assert_only_faulty_reported(32, FaultKind::BadMemberMask, &vote(0), &vote(u32::MAX));
}

#[test]
fn shuffles_from_inactive_lanes_are_reported() {
    let body = |distance: u32, mask: u32| {
        format!("{HALF} @%q shfl.sync.down.b32 %w, %v, {distance}, 31, {mask};")
    };
    // Lane 15 reads lane 16, which is in no mask. With a narrow segment, the read stays inside the
    // mask.
    let narrow = "shfl.sync.down.b32 %w, %v, 1, 4127, 0xffff;";
    assert_eq!(4127, (32 - 16) << 8 | 31);
    assert_only_faulty_reported(
        32,
        FaultKind::InactiveLane,
        &body(1, 0xffff),
        &format!("{HALF} @%q {narrow}"),
    );
    // The last warp of a block of 40 threads has 8 lanes.
    let butterfly = |lane: u32| format!("shfl.sync.bfly.b32 %w, %v, {lane}, 31, -1;");
    assert_only_faulty_reported(40, FaultKind::InactiveLane, &butterfly(8), &butterfly(4));
    // Without the check, the value is unspecified.
    let text = kernel(0, &format!(".reg .b32 %v, %w;\nmov.u32 %v, %tid.x;\n{}ret;", butterfly(8)));
    launch(&crate::ptx::emulator(), &text, ([1; 3], [8, 1, 1]), &[]).unwrap();
}

#[test]
fn deadlocks_are_reported() {
    // Warp 0 waits at barrier 1, warp 1 at barrier 2.
    let body = |second: u32| {
        format!(
            "setp.lt.u32 %q, %t, 32; @%q bra LOW; bar.sync 1, 64; bra END; \
             LOW: bar.sync {second}, 64; END: add.u32 %w, %t, 1;"
        )
    };
    assert_only_faulty_reported(64, FaultKind::Deadlock, &body(2), &body(1));
    // Lanes wait for lanes that are at another collective.
    let lanes = |other: &str| {
        format!(
            "{HALF} @%q bra LOW; bar.warp.sync -1; bra END; LOW: {other} END: add.u32 %w, %t, 1;"
        )
    };
    assert_only_faulty_reported(
        32,
        FaultKind::Deadlock,
        &lanes("redux.sync.add.u32 %v, %v, -1;"),
        &lanes("bar.warp.sync -1;"),
    );
    // Fewer threads arrive than the barrier expects.
    assert_only_faulty_reported(64, FaultKind::Deadlock, "bar.sync 1, 96;", "bar.sync 1, 64;");
}

#[test]
fn infinite_loops_are_reported() {
    assert_only_faulty_reported(
        32,
        FaultKind::Runaway,
        "LOOP: add.u32 %v, %v, 1; bra LOOP;",
        "LOOP: add.u32 %v, %v, 1; setp.lt.u32 %q, %v, 1000; @%q bra LOOP;",
    );
    // An infinite loop with a barrier.
    assert_only_faulty_reported(
        64,
        FaultKind::Runaway,
        "LOOP: bar.sync 0; bra LOOP;",
        "mov.u32 %v, 0; LOOP: bar.sync 0; add.u32 %v, %v, 1; setp.lt.u32 %q, %v, 9; @%q bra LOOP;",
    );
}

#[test]
fn masks_that_name_different_members_are_a_deadlock() {
    let body = |mask: u32| {
        format!(
            "mov.u32 %w, 3; setp.eq.u32 %q, %t, 0; @%q mov.u32 %w, {mask}; setp.lt.u32 %q, %t, 2; \
             @!%q bra END; bar.warp.sync %w; END: ret;"
        )
    };
    assert_only_faulty_reported(32, FaultKind::Deadlock, &body(7), &body(3));
    let fault = run(&body(7), 32).unwrap_err();
    assert!(fault.to_string().contains("which are here too, but name other members"), "{fault}");
}
