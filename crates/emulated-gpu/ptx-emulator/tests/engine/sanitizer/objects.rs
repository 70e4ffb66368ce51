//! racecheck and initcheck with barrier objects, and with the copies that these count.

use ptx_emulator::{Checks, Emulator, FaultKind, RunOptions};

use super::racecheck::assert_only_faulty_races;
use crate::ptx::{kernel, launch, words};

/// Declarations for a body that is passed to [`assert_only_faulty_races`].
const OBJECT: &str = ".shared .align 8 .b64 o; mov.u32 %a, o; setp.eq.u32 %q, %t, 0;";
const WAIT: &str = "WAIT: mbarrier.try_wait.parity.shared.b64 %u, [%a], 0; @!%u bra WAIT;";

#[test]
fn a_completed_phase_orders_earlier_accesses_of_the_arriving_threads() {
    let body = |wait: &str, place: &str| {
        let (before, after) = match place {
            "before" => ("st.shared.u32 [%i], %v;", ""),
            _ => ("", "st.shared.u32 [%i], %v;"),
        };
        format!(
            "{OBJECT} @%q mbarrier.init.shared.b64 [%a], 32; bar.sync 0;
             setp.ge.u32 %u, %t, 32; @%u bra CONSUMER;
             {before} mbarrier.arrive.shared.b64 _, [%a]; {after} bra END;
             CONSUMER: {wait} ld.shared.u32 %w, [%i+-128];
             END: add.u32 %c, %v, 1;"
        )
    };
    let clean = body(WAIT, "before");
    assert_only_faulty_races((1, 64), &body("", "before"), &clean);
    // Accesses after the arrival are not ordered.
    assert_only_faulty_races((1, 64), &body(WAIT, "after"), &clean);
    let relaxed = WAIT.replace("parity.", "parity.relaxed.cta.");
    assert_only_faulty_races((1, 64), &body(&relaxed, "before"), &clean);
    let silent = clean.replace("mbarrier.arrive.", "mbarrier.arrive.relaxed.cta.");
    assert_only_faulty_races((1, 64), &silent, &clean);
    let fenced = silent.replace("mbarrier.arrive.relaxed", "fence.cta; mbarrier.arrive.relaxed");
    assert_only_faulty_races((1, 64), &silent, &fenced);
}

#[test]
fn initialisation_of_a_barrier_object_must_be_ordered_before_its_use() {
    let body = |between: &str| {
        format!(
            "{OBJECT} @%q mbarrier.init.shared.b64 [%a], 31; {between}
             @!%q mbarrier.arrive.shared.b64 _, [%a];"
        )
    };
    assert_only_faulty_races((1, 32), &body(""), &body("bar.warp.sync -1;"));
}

#[test]
fn a_bulk_copy_is_complete_when_its_phase_is() {
    let body = |wait: &str| {
        format!(
            "{OBJECT} @%q mbarrier.init.shared.b64 [%a], 1; bar.sync 0; @!%q bra WAITING;
             mbarrier.arrive.expect_tx.shared.b64 _, [%a], 256;
             cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [s], [%p0], 256, [%a];
             WAITING: {wait} ld.shared.u32 %w, [%i];"
        )
    };
    let clean = body(WAIT);
    assert_only_faulty_races((1, 64), &body(""), &clean);
    // A barrier of the block does not wait for the copy.
    assert_only_faulty_races((1, 64), &body("bar.sync 0;"), &clean);
}

#[test]
fn the_source_of_a_bulk_copy_must_not_be_written_before_it_is_read() {
    let body = |wait: &str| {
        format!(
            "st.shared.u32 [%i], %v; bar.sync 0; setp.ne.u32 %q, %t, 0; @%q bra LATER;
             cp.async.bulk.global.shared::cta.bulk_group [%p0], [s], 256;
             cp.async.bulk.commit_group; {wait}
             LATER: bar.sync 0; st.shared.u32 [%i], %t;"
        )
    };
    let clean = body("cp.async.bulk.wait_group.read 0;");
    assert_only_faulty_races((1, 64), &body(""), &clean);
    assert_only_faulty_races(
        (1, 64),
        &body("cp.async.bulk.wait_group.read 1;"),
        &body("cp.async.bulk.wait_group 0;"),
    );
    // Waiting for the other kind of copies is not enough.
    assert_only_faulty_races((1, 64), &body("cp.async.wait_all;"), &clean);
}

#[test]
fn arrivals_of_copies_order_the_copies() {
    let body = |arrive: &str| {
        format!(
            "{OBJECT} @%q mbarrier.init.shared.b64 [%a], 64; bar.sync 0;
             mul.wide.u32 %x, %t, 4; add.u64 %x, %p0, %x;
             cp.async.ca.shared.global [%i], [%x], 4; {arrive} {WAIT}
             xor.b32 %i, %i, 128; ld.shared.u32 %w, [%i];"
        )
    };
    let arrive = "mbarrier.arrive.shared.b64 _, [%a];";
    let clean = body("cp.async.mbarrier.arrive.noinc.shared.b64 [%a];");
    assert_only_faulty_races((1, 64), &body(arrive), &clean);
    assert_only_faulty_races(
        (1, 64),
        &body(arrive),
        &body(&format!("cp.async.mbarrier.arrive.shared.b64 [%a]; {arrive}")),
    );
}

#[test]
fn bulk_copies_read_and_initialise_memory() {
    let checks = Checks { initialisation: true, ..Checks::default() };
    let run = |written: bool, body: &str| {
        let emulator = Emulator::new(RunOptions { checks, ..RunOptions::default() });
        let memory = if written {
            words(&emulator, &[1; 64])
        } else {
            emulator.memory().allocate(256, 16).unwrap()
        };
        let text = kernel(
            1,
            &format!(
                ".shared .align 16 .b8 s[256]; .shared .align 8 .b64 o; .reg .pred %q; .reg .b32 %w;
                 mbarrier.init.shared.b64 [o], 1; {body} ret;"
            ),
        );
        launch(&emulator, &text, ([1; 3], [1; 3]), &[memory])
            .map(|_| ())
            .map_err(|fault| fault.kind)
    };
    let copy =
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [s], [%p0], 32, [o];";
    let read = "ld.shared.u32 %w, [s+28];";
    assert_eq!(run(false, copy), Err(FaultKind::Uninitialised));
    assert_eq!(run(true, &format!("{copy} {read}")), Ok(()));
    assert_eq!(run(true, read), Err(FaultKind::Uninitialised));
    let away = "cp.async.bulk.global.shared::cta.bulk_group [%p0], [s], 16;";
    assert_eq!(run(false, away), Err(FaultKind::Uninitialised));
    assert_eq!(run(false, &format!("st.shared.v4.u32 [s], {{1, 2, 3, 4}}; {away}")), Ok(()));
    // In uninitialised memory there is no barrier object.
    assert_eq!(run(true, "mbarrier.arrive.shared.b64 _, [s];"), Err(FaultKind::Uninitialised));
}
