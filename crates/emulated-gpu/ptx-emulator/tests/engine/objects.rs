//! Barrier objects (`mbarrier`) between warps: waits, deadlocks, and invalid uses.

use ptx_emulator::{Checks, Emulator, Fault, FaultKind, RunOptions};

use crate::ptx::{emulator, kernel, launch, read, words};

const HEAD: &str = "
    .shared .align 16 .b8 s[1024]; .shared .align 8 .b64 o;
    .reg .b32 %t, %i, %a, %c, %v; .reg .b64 %x, %n; .reg .pred %q, %u, %z;
    mov.u32 %t, %tid.x; mov.u32 %a, o; mov.u32 %i, s; mad.lo.u32 %i, %t, 4, %i;
    mad.wide.u32 %x, %t, 4, %p0; setp.eq.u32 %z, %t, 0; mov.u32 %c, 0;
";

const WAIT: &str = "WAIT: mbarrier.try_wait.parity.shared.b64 %q, [%a], 0; @!%q bra WAIT;";

fn run_on(emulator: &Emulator, threads: u32, body: &str) -> Result<Vec<u32>, Fault> {
    let out = words(emulator, &[9; 128]);
    let text = kernel(1, &format!("{HEAD}{body}\nret;"));
    launch(emulator, &text, ([1; 3], [threads, 1, 1]), &[out])?;
    Ok(read(emulator, out, threads as usize))
}

fn run(threads: u32, body: &str) -> Result<Vec<u32>, Fault> {
    run_on(&emulator(), threads, body)
}

fn init(count: u32) -> String {
    format!("@%z mbarrier.init.shared.b64 [%a], {count}; bar.sync 0;")
}

#[test]
fn phases_follow_each_other() {
    // Two warps pass a number to and fro ten times, each adding one.
    let body = format!(
        "{} and.b32 %v, %t, 32; setp.eq.u32 %u, %v, 0; shr.u32 %v, %v, 5; mov.u32 %i, s;
         @%z st.shared.u32 [%i], 0; bar.sync 0;
         AGAIN: and.b32 %a, %c, 1; setp.ne.u32 %q, %a, %v; mov.u32 %a, o;
         @%q bra HAND;
         .reg .b32 %w; ld.shared.u32 %w, [%i]; add.u32 %w, %w, 1; st.shared.u32 [%i], %w;
         HAND: mbarrier.arrive.shared.b64 %n, [%a];
         WAIT: mbarrier.test_wait.shared.b64 %q, [%a], %n; @!%q bra WAIT;
         add.u32 %c, %c, 1; setp.lt.u32 %q, %c, 10; @%q bra AGAIN;
         ld.shared.u32 %w, [%i]; st.global.u32 [%x], %w;",
        init(64)
    );
    assert_eq!(run(64, &body).unwrap(), vec![10; 64]);
}

#[test]
fn a_failed_test_yields_to_other_warps() {
    // The second warp works for a long time before it arrives; the first only waits.
    let slow = format!(
        "{} setp.ge.u32 %u, %t, 32; @!%u bra WAIT;
         WORK: add.u32 %c, %c, 1; setp.lt.u32 %q, %c, 100000; @%q bra WORK;
         st.shared.u32 [%i], %c; mbarrier.arrive.shared.b64 _, [%a];
         {WAIT} or.b32 %i, %i, 128; ld.shared.u32 %v, [%i]; st.global.u32 [%x], %v;",
        init(32)
    );
    assert_eq!(run(64, &slow).unwrap(), vec![100_000; 64]);
}

#[test]
fn a_thread_may_give_up_waiting() {
    // No thread arrives, but the thread gives up after a thousand tests and continues: this is not
    // a deadlock.
    let body = format!(
        "{} WAIT: add.u32 %c, %c, 1; mbarrier.test_wait.parity.shared.b64 %q, [%a], 0;
         setp.lt.and.u32 %u, %c, 1000, !%q; @%u bra WAIT; st.global.u32 [%x], %c;",
        init(2)
    );
    assert_eq!(run(32, &body).unwrap(), vec![1000; 32]);
}

#[test]
fn polling_a_flag_between_tests_is_not_a_deadlock() {
    // One warp keeps testing until another warp sets a flag, after the second warp has waited long
    // enough.
    let body = format!(
        "{} setp.ge.u32 %u, %t, 32; @%u bra SET;
         WAIT: mbarrier.test_wait.parity.shared.b64 %q, [%a], 0; ld.volatile.shared.u32 %v, [s];
         setp.eq.u32 %u, %v, 7; @!%u bra WAIT; bra END;
         SET: add.u32 %c, %c, 1; setp.lt.u32 %q, %c, 50000; @%q bra SET; mov.u32 %v, 7;
         st.volatile.shared.u32 [s], %v;
         END: st.global.u32 [%x], %v;",
        init(2)
    );
    assert_eq!(run(64, &body).unwrap(), vec![7; 64]);
}

/// A waiting loop that reads the clock between two tests, and sleeps longer each time.
const WAITING_LOOP: &str = "
    .reg .b64 %since, %now; .reg .b32 %sleep; mov.u64 %since, %globaltimer;
    WAIT: mbarrier.test_wait.parity.shared.b64 %q, [%a], 0; @%q bra END;
    mov.u64 %now, %globaltimer; sub.u64 %now, %now, %since; cvt.u32.u64 %sleep, %now;
    shr.u32 %sleep, %sleep, 2; nanosleep.u32 %sleep;";

#[test]
fn a_wait_with_a_timeout_ends() {
    // The timeout is a minute, and nothing else can end the wait.
    let body = format!(
        "{} {WAITING_LOOP} setp.lt.u64 %q, %now, 60000000000; @%q bra WAIT; mov.u32 %c, 5;
         END: st.global.u32 [%x], %c;",
        init(2)
    );
    assert_eq!(run(32, &body).unwrap(), vec![5; 32]);
    let report = deadlock(32, &format!("{} {WAITING_LOOP} bra WAIT; END: mov.u32 %c, 1;", init(2)));
    assert!(report.contains("waits for 2 of 2 arrivals"), "{report}");
}

fn deadlock(threads: u32, body: &str) -> String {
    let fault = run(threads, body).unwrap_err();
    assert_eq!(fault.kind, FaultKind::Deadlock, "{fault}");
    fault.to_string()
}

#[test]
fn a_phase_that_never_completes_is_a_deadlock() {
    let report =
        deadlock(32, &format!("{} @%z mbarrier.arrive.shared.b64 _, [%a]; {WAIT}", init(2)));
    assert!(report.contains("waits for 1 of 2 arrivals"), "{report}");
    assert!(report.contains("mbarrier.try_wait.parity"), "{report}");
    // One warp waits at a barrier of the block, and one tests with pauses.
    let report = deadlock(
        64,
        &format!(
            "{} mbarrier.arrive.shared.b64 %n, [%a]; setp.ge.u32 %u, %t, 32; @%u bra END;
             WAIT: nanosleep.u32 20; mbarrier.test_wait.shared.b64 %q, [%a], %n; @!%q bra WAIT;
             END: bar.sync 0;",
            init(65)
        ),
    );
    assert!(report.contains("waits for 1 of 65 arrivals"), "{report}");
    assert!(report.contains("wait at barrier 0"), "{report}");
    let report = deadlock(
        32,
        &format!("{} @%z mbarrier.arrive.expect_tx.shared.b64 _, [%a], 48; {WAIT}", init(1)),
    );
    assert!(report.contains("0 of 1 arrivals and for 48 bytes of transactions"), "{report}");
    let early = "@%z cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [s], [%p0], 32, [%a];";
    let report = deadlock(
        32,
        &format!("{} {early} @%z mbarrier.arrive.shared.b64 _, [%a]; {WAIT}", init(1)),
    );
    assert!(report.contains("and for 32 completed bytes to be expected"), "{report}");
}

#[test]
fn invalid_uses_of_a_barrier_object_are_faults() {
    let wrong = |body: &str| {
        let fault = run(32, body).unwrap_err();
        assert_eq!(fault.kind, FaultKind::InvalidInstruction, "{fault}");
        assert!(fault.to_string().contains("shared variable `o`"), "{fault}");
        fault.message.clone()
    };
    let arrive = "mbarrier.arrive.shared.b64 %n, [%a];";
    assert!(wrong(arrive).contains("mbarrier.init has not created one"));
    let ended = format!("{} @%z mbarrier.inval.shared.b64 [%a]; bar.sync 0; {arrive}", init(1));
    assert!(wrong(&ended).contains("mbarrier.inval"));
    let over = format!("{} @%z st.shared.u32 [%a], 1; bar.sync 0; {arrive}", init(1));
    assert!(wrong(&over).contains("written over"));
    let many = format!("{} @%z mbarrier.arrive.shared.b64 %n, [%a], 3;", init(2));
    assert!(wrong(&many).contains("3 threads arrive, but the phase waits for 2"));
    let last = format!("{} @%z mbarrier.arrive.noComplete.shared.b64 %n, [%a], 2;", init(2));
    assert!(wrong(&last).contains(".noComplete"));
    let none = format!("{} mov.u32 %c, 0; @%z mbarrier.arrive.shared.b64 %n, [%a], %c;", init(2));
    assert!(wrong(&none).contains("0 is not a valid number of arrivals"));
    let bytes =
        format!("{} mov.u32 %c, 1048576; @%z mbarrier.expect_tx.shared.b64 [%a], %c;", init(2));
    assert!(wrong(&bytes).contains("counts to 1048575"));
    let old = format!("{} mov.u64 %n, 0; @%z mbarrier.test_wait.shared.b64 %q, [%a], %n;", init(2));
    assert!(wrong(&old).contains("the register does not hold the state of a barrier object"));
}

#[test]
fn a_barrier_object_is_initialised_once() {
    let twice = format!("{} {}", init(1), init(1));
    run(32, &twice).unwrap();
    let checks = Checks { synchronisation: true, ..Checks::default() };
    let strict = Emulator::new(RunOptions { checks, ..RunOptions::default() });
    let fault = run_on(&strict, 32, &twice).unwrap_err();
    assert!(fault.message.contains("there is already a barrier object"), "{fault}");
    let between = "@%z mbarrier.inval.shared.b64 [%a]; bar.sync 0;";
    run_on(&strict, 32, &format!("{} {between} {}", init(1), init(1))).unwrap();
}

#[test]
fn bulk_copies_go_both_ways() {
    let body = format!(
        "{} @!%z bra WAIT;
         mbarrier.arrive.expect_tx.shared.b64 _, [%a], 512;
         cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [s+64], [%p0], 512, [%a];
         {WAIT} ld.shared.u32 %v, [%i+64]; add.u32 %v, %v, %t; st.shared.u32 [%i+64], %v;
         fence.proxy.async.shared::cta; bar.sync 0; @!%z bra END;
         cp.async.bulk.global.shared::cta.bulk_group [%p0], [s+64], 256;
         cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;
         END: add.u32 %c, %c, 1;",
        init(1)
    );
    let found = run(128, &body).unwrap();
    let expected: Vec<u32> = (0..128).map(|at| if at < 64 { 9 + at } else { 9 }).collect();
    assert_eq!(found, expected);
}

#[test]
fn bulk_copies_are_checked() {
    let copy = |to: &str, from: &str, size: &str| {
        let text = format!(
            "{} mov.u32 %c, {size}; @%z mbarrier.expect_tx.shared.b64 [%a], %c;
             @%z cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [{to}], [{from}], %c, [%a];",
            init(1)
        );
        run(32, &text).map(|_| ()).map_err(|fault| (fault.kind, fault.message.clone()))
    };
    copy("s", "%p0", "512").unwrap();
    copy("s+1008", "%p0+496", "16").unwrap();
    assert_eq!(copy("s", "%p0", "24").unwrap_err().0, FaultKind::Misaligned);
    assert_eq!(copy("s+8", "%p0", "16").unwrap_err().0, FaultKind::Misaligned);
    assert_eq!(copy("s", "%p0+4", "16").unwrap_err().0, FaultKind::Misaligned);
    assert_eq!(copy("s", "%p0+496", "32").unwrap_err().0, FaultKind::IllegalAddress);
    assert_eq!(copy("s+4096", "%p0", "32").unwrap_err().0, FaultKind::IllegalAddress);
    // More than any memory holds.
    assert_eq!(copy("s", "%p0", "0xfffff0").unwrap_err().0, FaultKind::InvalidInstruction);
}
