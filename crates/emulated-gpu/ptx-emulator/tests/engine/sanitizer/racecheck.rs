//! racecheck: for each race there is a faulty kernel, and a clean one with correct ordering, here mostly by a barrier.
//! Tests of fences, flags and counters are in `ordering.rs`.

use ptx_emulator::{Checks, Emulator, Fault, FaultKind, Launch, RunOptions};

use crate::ptx::{kernel, load, words};

/// A device with racecheck and this number of host threads.
pub(super) fn device(threads: usize) -> Emulator {
    let checks = Checks { races: true, ..Checks::default() };
    Emulator::new(RunOptions {
        checks,
        threads,
        instruction_limit: Some(10_000_000),
        ..RunOptions::default()
    })
}

pub(super) const HEAD: &str = "
    .shared .align 16 .b8 s[1024];
    .reg .b32 %t, %b, %v, %w, %i, %j, %a, %c;
    .reg .b64 %x, %y;
    .reg .pred %q, %u;
    mov.u32 %t, %tid.x;
    mov.u32 %b, %ctaid.x;
    mov.u32 %v, 7;
    mov.u32 %i, s;
    shl.b32 %j, %t, 2;
    add.u32 %i, %i, %j;
";

/// Runs `body` in a grid of `blocks` blocks of `threads` threads, with `%p0` pointing to 256 words.
pub(super) fn run(
    emulator: &Emulator,
    (blocks, threads): (u32, u32),
    body: &str,
) -> Result<(), Fault> {
    launch(emulator, (blocks, threads), body, false)
}

pub(super) fn launch(
    emulator: &Emulator,
    (blocks, threads): (u32, u32),
    body: &str,
    cooperative: bool,
) -> Result<(), Fault> {
    let text = kernel(1, &format!("{HEAD}{body}\nret;"));
    let kernel = load(emulator, &text).kernel("k").expect("the kernel k");
    let parameters = words(emulator, &[0; 256]).to_le_bytes().to_vec();
    let launch = Launch {
        grid: [blocks, 1, 1],
        block: [threads, 1, 1],
        parameters,
        cooperative,
        ..Launch::default()
    };
    emulator.launch(&kernel, &launch).map(|_| ())
}

/// Devices with different orders of blocks and warps: one and two host threads, and several seeds.
pub(super) fn devices() -> Vec<Emulator> {
    let checks = Checks { races: true, ..Checks::default() };
    let mut list = vec![device(1), device(2)];
    for seed in 1..4 {
        let options = RunOptions {
            checks,
            seed: Some(seed),
            instruction_limit: Some(10_000_000),
            ..RunOptions::default()
        };
        list.push(Emulator::new(options));
    }
    list
}

/// Checks that `faulty` races on every device, and `clean` on none.
pub(super) fn assert_only_faulty_races(shape: (u32, u32), faulty: &str, clean: &str) {
    for emulator in devices() {
        let kind = run(&emulator, shape, faulty).err().map(|fault| fault.kind);
        assert_eq!(kind, Some(FaultKind::Race), "{faulty}");
        if let Err(fault) = run(&emulator, shape, clean) {
            panic!("{clean}\n{fault}");
        }
    }
}

/// Sets `%a` to the address of the mirrored thread's word: thread `n - 1 - i` mirrors thread `i` of
/// `n`.
const MIRROR: &str =
    "mov.u32 %a, %ntid.x; sub.u32 %a, %a, %t; sub.u32 %a, %a, 1; shl.b32 %a, %a, 2;
    mov.u32 %c, s; add.u32 %a, %a, %c;";

#[test]
fn a_missing_barrier_is_a_race() {
    let body = |between: &str| {
        format!("{MIRROR} st.shared.u32 [%i], %t; {between} ld.shared.u32 %v, [%a];")
    };
    assert_only_faulty_races((1, 64), &body(""), &body("bar.sync 0;"));
    assert_only_faulty_races((3, 96), &body("bar.warp.sync -1;"), &body("barrier.sync 3;"));
    // A word is read, and then written by another thread: a barrier is missing at the end of a
    // loop.
    let body = |between: &str| {
        format!("{MIRROR} ld.shared.u32 %v, [%a]; {between} st.shared.u32 [%i], %t;")
    };
    assert_only_faulty_races((1, 64), &body(""), &body("bar.sync 0;"));
    // Generic addresses refer to the same memory.
    let body = |between: &str| {
        format!(
            "{MIRROR} st.shared.u32 [%i], %t; {between} cvt.u64.u32 %x, %a; \
             cvta.shared.u64 %x, %x; ld.u32 %v, [%x];"
        )
    };
    assert_only_faulty_races((1, 64), &body(""), &body("bar.sync 0;"));
}

#[test]
fn the_report_names_both_threads_and_both_lines() {
    let body = ".loc 1 7 0\nst.shared.u32 [%i], %t;\n.loc 1 9 0\nld.shared.u32 %v, [s+128];";
    let text = kernel(1, &format!("{HEAD}{body}\nret;")) + "\n.file 1 \"sum.cu\"\n";
    let emulator = device(1);
    let kernel = load(&emulator, &text).kernel("k").unwrap();
    let parameters = words(&emulator, &[0; 4]).to_le_bytes().to_vec();
    let (grid, block) = ([1, 1, 1], [64, 1, 1]);
    let fault = emulator
        .launch(&kernel, &Launch { grid, block, parameters, ..Launch::default() })
        .unwrap_err();
    let other = fault.other.clone().expect("the other thread");
    assert_eq!((fault.kind, fault.address), (FaultKind::Race, Some(128)));
    // Warp 0 reads before warp 1 writes.
    assert_eq!((fault.thread, other.thread), (Some([32, 0, 0]), [31, 0, 0]));
    assert_eq!((fault.block, other.block, other.wrote), (Some([0; 3]), [0; 3], false));
    assert_eq!(fault.place.as_ref().unwrap().text.trim(), "st.shared.u32 [%i], %t;");
    assert_eq!(other.place.text.trim(), "ld.shared.u32 %v, [s+128];");
    assert_eq!(fault.cuda, Some(("sum.cu".into(), 7)));
    assert_eq!(other.cuda, Some(("sum.cu".into(), 9)));
    let report = fault.to_string();
    for part in [
        "race: shared write of 4 bytes at 0x80, which another thread reads; nothing orders the two",
        "kernel  k, block (0, 0, 0), thread (32, 0, 0)",
        "read    by block (0, 0, 0), thread (31, 0, 0)",
        "it is 128 bytes into the shared variable `s` of 1024 bytes",
        "put a barrier (bar.sync, __syncthreads) between the two",
    ] {
        assert!(report.contains(part), "{part}\n{report}");
    }
}

#[test]
fn lanes_of_a_warp_race_without_a_warp_barrier() {
    // Neighbours in a warp, as in a reduction without __syncwarp.
    let body = |between: &str| {
        format!(
            "st.shared.u32 [%i], %t; {between} xor.b32 %j, %j, 4; mov.u32 %a, s; \
             add.u32 %a, %a, %j; ld.shared.u32 %v, [%a];"
        )
    };
    assert_only_faulty_races((1, 32), &body(""), &body("bar.warp.sync -1;"));
    assert_only_faulty_races((1, 32), &body(""), &body("shfl.sync.idx.b32 %w, %v, 0, 31, -1;"));
    assert_only_faulty_races((2, 48), &body(""), &body("bar.sync 0;"));
    // A member mask only orders the lanes that it names: pairs among lanes 0 to 15, not among 16 to 31.
    let half = |lanes: u32, mask: u32| {
        format!(
            "setp.lt.u32 %q, %t, {lanes}; @!%q bra END; {} END:",
            body(&format!("bar.warp.sync {mask};"))
        )
    };
    assert_only_faulty_races(
        (1, 32),
        &body("setp.lt.u32 %q, %t, 16; @%q bar.warp.sync 0xffff;"),
        &half(16, 0xffff),
    );
}

#[test]
fn lanes_that_store_different_values_to_one_word_race() {
    // Different values stored to one word are a race; equal values are accepted.
    assert_only_faulty_races((1, 32), "st.shared.u32 [s], %t;", "st.shared.u32 [s], %v;");
    assert_only_faulty_races((1, 32), "st.global.u32 [%p0], %t;", "st.global.u32 [%p0], %v;");
    // Stores of two warps are separate instructions.
    assert_only_faulty_races(
        (1, 64),
        "st.shared.u32 [s], %v;",
        "setp.eq.u32 %q, %t, 0; @%q st.shared.u32 [s], %v;",
    );
}

#[test]
fn accesses_to_different_bytes_of_a_word_do_not_race() {
    let body = |bytes: &str| {
        format!(
            "mov.u32 %a, s; add.u32 %a, %a, %t; {bytes} mov.u32 %a, s; add.u32 %a, %a, %t; \
             ld.shared.u8 %w, [%a];"
        )
    };
    assert_only_faulty_races(
        (1, 32),
        &body("xor.b32 %j, %t, 1; mov.u32 %a, s; add.u32 %a, %a, %j; st.shared.u8 [%a], 1;"),
        &body("st.shared.u8 [%a], 1;"),
    );
}

#[test]
fn a_barrier_only_orders_the_threads_that_it_counts() {
    // Warp 0 produces, warp 1 consumes, and warp 2 does not take part.
    let body = |consumer: u32, threads: u32| {
        format!(
            "setp.lt.u32 %q, %t, 32; @%q bra PRODUCE; \
             shr.u32 %w, %t, 5; setp.ne.u32 %q, %w, {consumer}; @%q bra OTHER; \
             bar.sync 1, {threads}; ld.shared.u32 %v, [s+4]; bra END; \
             OTHER: setp.eq.u32 %q, %w, 1; @%q bar.sync 1, {threads}; ld.shared.u32 %w, [s+512]; \
             @!%q ld.shared.u32 %w, [s+HERE]; bra END; \
             PRODUCE: st.shared.u32 [%i], %t; bar.arrive 1, {threads}; END:"
        )
    };
    let here = |at: u32| body(1, 64).replace("HERE", &at.to_string());
    // Warp 2 reads the words of warp 0 without waiting; in the clean kernel it reads other words.
    assert_only_faulty_races((1, 96), &here(4), &here(600));
    // Writes after the arrival are not covered.
    let body = |before: &str, after: &str| {
        format!(
            "setp.lt.u32 %q, %t, 32; @%q bra PRODUCE; bar.sync 2, 64; ld.shared.u32 %v, [s+4]; \
             bra END; PRODUCE: {before} bar.arrive 2, 64; {after} END:"
        )
    };
    let store = "st.shared.u32 [%i], %t;";
    assert_only_faulty_races((1, 64), &body("", store), &body(store, ""));
}

#[test]
fn atomics_race_with_plain_accesses_without_a_barrier() {
    let sum = "atom.shared.add.u32 %w, [s], 1; red.global.add.u32 [%p0], 1;";
    // Reading the sum needs a barrier.
    let body = |between: &str| format!("{sum} {between} ld.shared.u32 %v, [s];");
    assert_only_faulty_races((2, 64), &body(""), &body("bar.sync 0;"));
    let plain = "ld.global.u32 %w, [%p0]; add.u32 %w, %w, 1; st.global.u32 [%p0], %w;";
    assert_only_faulty_races((2, 1), plain, "red.global.add.u32 [%p0], 1;");
    // An atomic operation of block scope is not atomic for other blocks.
    assert_only_faulty_races(
        (2, 1),
        "red.global.cta.add.u32 [%p0], 1;",
        "red.global.gpu.add.u32 [%p0], 1;",
    );
    assert_only_faulty_races(
        (2, 1),
        "red.cta.global.add.u32 [%p0], 1;",
        "setp.eq.u32 %q, %b, 0; @%q red.cta.global.add.u32 [%p0], 1;",
    );
}

#[test]
fn blocks_race_on_words_that_they_share() {
    let own = "mad.lo.u32 %w, %b, 32, %t; mul.wide.u32 %x, %w, 4; add.u64 %x, %x, %p0;";
    // Each block writes its own words (clean), or the same words as the other blocks (faulty).
    let faulty = "mul.wide.u32 %x, %t, 4; add.u64 %x, %x, %p0; st.global.u32 [%x], %b;";
    assert_only_faulty_races((2, 32), faulty, &format!("{own} st.global.u32 [%x], %b;"));
    // A block reads the words of another block.
    let shared = format!("{own} st.global.u32 [%x], %b; ld.global.u32 %v, [%p0+4];");
    assert_only_faulty_races(
        (4, 32),
        &shared,
        &format!("{own} st.global.u32 [%x], %b; ld.global.u32 %v, [%x];"),
    );
    // Many readers of one word, and a writer in another block.
    let body = |write: &str| {
        format!(
            "ld.global.u32 %v, [%p0]; bar.sync 0; ld.global.u32 %v, [%p0]; \
             setp.eq.u32 %q, %b, 7; {write}"
        )
    };
    let faulty = body("@%q st.global.u32 [%p0], %v;");
    assert_only_faulty_races(
        (8, 64),
        &faulty,
        &body("@%q st.global.u32 [%p0+4], 1;").replace("7;", "7; setp.eq.and.u32 %q, %t, 0, %q;"),
    );
}

#[test]
fn a_copy_that_has_not_been_waited_for_races() {
    let body = |wait: &str, barrier: &str| {
        format!(
            "mul.wide.u32 %x, %t, 4; add.u64 %x, %x, %p0; \
             cp.async.ca.shared.global [%i], [%x], 4; cp.async.commit_group; {wait} {barrier} \
             {MIRROR} ld.shared.u32 %v, [%a];"
        )
    };
    let clean = body("cp.async.wait_group 0;", "bar.sync 0;");
    assert_only_faulty_races((1, 64), &body("", "bar.sync 0;"), &clean);
    assert_only_faulty_races((1, 64), &body("cp.async.wait_group 1;", "bar.sync 0;"), &clean);
    assert_only_faulty_races((1, 64), &body("cp.async.wait_group 0;", ""), &clean);
    assert_only_faulty_races(
        (1, 64),
        &body("", "bar.sync 0;"),
        &body("cp.async.wait_all;", "bar.sync 0;"),
    );
    // A thread's own copy also needs the wait, but no barrier.
    let own = |wait: &str| body(wait, "").replace("[%a]", "[%i]");
    assert_only_faulty_races((1, 64), &own(""), &own("cp.async.wait_all;"));
}

#[test]
fn launches_are_ordered() {
    let emulator = device(2);
    let text = kernel(
        1,
        &format!(
            "{HEAD} mul.wide.u32 %x, %t, 4; add.u64 %x, %x, %p0; st.global.u32 [%x], %t; ret;"
        ),
    );
    let kernel = load(&emulator, &text).kernel("k").unwrap();
    let parameters = words(&emulator, &[0; 64]).to_le_bytes().to_vec();
    let launch = Launch { grid: [1; 3], block: [64, 1, 1], parameters, ..Launch::default() };
    for _ in 0..3 {
        emulator.launch(&kernel, &launch).unwrap();
    }
}

/// The advice holds for all threads that race at the reported instructions, not only for the first two.
#[test]
fn the_advice_fits_all_threads_that_race() {
    let body = |neighbour: &str| {
        format!(
            "st.shared.u32 [%i], %t;
             {neighbour}
             and.b32 %j, %j, 63; shl.b32 %j, %j, 2; mov.u32 %i, s; add.u32 %i, %i, %j;
             ld.shared.u32 %w, [%i];"
        )
    };
    for (threads, neighbour, expected) in [
        (32, "add.u32 %j, %t, 16;", "bar.warp.sync"),
        (64, "xor.b32 %j, %t, 1;", "bar.warp.sync"),
        (64, "add.u32 %j, %t, 16;", "put a barrier"),
    ] {
        let fault = run(&device(1), (1, threads), &body(neighbour)).unwrap_err();
        assert_eq!(fault.kind, FaultKind::Race);
        let advice = fault.notes.last().unwrap();
        assert!(advice.contains(expected), "{threads} threads, {neighbour}: {fault}");
    }
}
