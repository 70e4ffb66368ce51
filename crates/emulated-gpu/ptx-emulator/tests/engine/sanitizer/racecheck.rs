//! racecheck: for each race a planted fault, and a clean twin that differs in what orders it.

use ptx_emulator::{Checks, Emulator, Fault, FaultKind, Launch, Options};

use crate::bench::{kernel, load, words};

/// A device that looks for races, with so many host threads.
fn device(threads: usize) -> Emulator {
    let checks = Checks { races: true, ..Checks::default() };
    Emulator::new(Options {
        checks,
        threads,
        instruction_limit: Some(10_000_000),
        ..Options::default()
    })
}

const HEAD: &str = "
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

/// Runs `body` in a grid of blocks of threads, with `%p0` pointing at 256 words.
fn run(emulator: &Emulator, (blocks, threads): (u32, u32), body: &str) -> Result<(), Fault> {
    launch(emulator, (blocks, threads), body, false)
}

fn launch(
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

/// Both orders of blocks and warps: one host thread and two, and several seeds.
fn devices() -> Vec<Emulator> {
    let checks = Checks { races: true, ..Checks::default() };
    let mut list = vec![device(1), device(2)];
    for seed in 1..4 {
        let options = Options {
            checks,
            seed: Some(seed),
            instruction_limit: Some(10_000_000),
            ..Options::default()
        };
        list.push(Emulator::new(options));
    }
    list
}

/// `faulty` races on every device, `clean` on none.
pub(super) fn twins(shape: (u32, u32), faulty: &str, clean: &str) {
    for emulator in devices() {
        let kind = run(&emulator, shape, faulty).err().map(|fault| fault.kind);
        assert_eq!(kind, Some(FaultKind::Race), "{faulty}");
        if let Err(fault) = run(&emulator, shape, clean) {
            panic!("{clean}\n{fault}");
        }
    }
}

/// The word of the thread that mirrors this one in the block, in `%a`.
const MIRROR: &str =
    "mov.u32 %a, %ntid.x; sub.u32 %a, %a, %t; sub.u32 %a, %a, 1; shl.b32 %a, %a, 2;
    mov.u32 %c, s; add.u32 %a, %a, %c;";

#[test]
fn a_missing_barrier() {
    let body = |between: &str| {
        format!("{MIRROR} st.shared.u32 [%i], %t; {between} ld.shared.u32 %v, [%a];")
    };
    twins((1, 64), &body(""), &body("bar.sync 0;"));
    twins((3, 96), &body("bar.warp.sync -1;"), &body("barrier.sync 3;"));
    // Read, then written by another thread: a barrier is missing at the end of a loop.
    let body = |between: &str| {
        format!("{MIRROR} ld.shared.u32 %v, [%a]; {between} st.shared.u32 [%i], %t;")
    };
    twins((1, 64), &body(""), &body("bar.sync 0;"));
    // Generic addresses lead to the same memory.
    let body = |between: &str| {
        format!(
            "{MIRROR} st.shared.u32 [%i], %t; {between} cvt.u64.u32 %x, %a; \
             cvta.shared.u64 %x, %x; ld.u32 %v, [%x];"
        )
    };
    twins((1, 64), &body(""), &body("bar.sync 0;"));
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
fn lanes_of_a_warp() {
    // Neighbours in a warp, as in a reduction without __syncwarp.
    let body = |between: &str| {
        format!(
            "st.shared.u32 [%i], %t; {between} xor.b32 %j, %j, 4; mov.u32 %a, s; \
             add.u32 %a, %a, %j; ld.shared.u32 %v, [%a];"
        )
    };
    twins((1, 32), &body(""), &body("bar.warp.sync -1;"));
    twins((1, 32), &body(""), &body("shfl.sync.idx.b32 %w, %v, 0, 31, -1;"));
    twins((2, 48), &body(""), &body("bar.sync 0;"));
    // A mask orders the lanes that it names: pairs of 0 to 15, not those of 16 to 31.
    let half = |lanes: u32, mask: u32| {
        format!(
            "setp.lt.u32 %q, %t, {lanes}; @!%q bra END; {} END:",
            body(&format!("bar.warp.sync {mask};"))
        )
    };
    twins((1, 32), &body("setp.lt.u32 %q, %t, 16; @%q bar.warp.sync 0xffff;"), &half(16, 0xffff));
}

#[test]
fn stores_of_one_instruction() {
    // Different values to one word; the same value is let pass.
    twins((1, 32), "st.shared.u32 [s], %t;", "st.shared.u32 [s], %v;");
    twins((1, 32), "st.global.u32 [%p0], %t;", "st.global.u32 [%p0], %v;");
    // Two warps are two instructions.
    twins((1, 64), "st.shared.u32 [s], %v;", "setp.eq.u32 %q, %t, 0; @%q st.shared.u32 [s], %v;");
}

#[test]
fn bytes_of_a_word_are_apart() {
    let body = |bytes: &str| {
        format!(
            "mov.u32 %a, s; add.u32 %a, %a, %t; {bytes} mov.u32 %a, s; add.u32 %a, %a, %t; \
             ld.shared.u8 %w, [%a];"
        )
    };
    twins(
        (1, 32),
        &body("xor.b32 %j, %t, 1; mov.u32 %a, s; add.u32 %a, %a, %j; st.shared.u8 [%a], 1;"),
        &body("st.shared.u8 [%a], 1;"),
    );
}

#[test]
fn named_and_counted_barriers() {
    // Warp 0 produces, warp 1 consumes; warp 2 does not take part.
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
    // Warp 2 reads what warp 0 wrote, without having waited; or something else.
    twins((1, 96), &here(4), &here(600));
    // What is written after the arrival is not covered.
    let body = |before: &str, after: &str| {
        format!(
            "setp.lt.u32 %q, %t, 32; @%q bra PRODUCE; bar.sync 2, 64; ld.shared.u32 %v, [s+4]; \
             bra END; PRODUCE: {before} bar.arrive 2, 64; {after} END:"
        )
    };
    let store = "st.shared.u32 [%i], %t;";
    twins((1, 64), &body("", store), &body(store, ""));
}

#[test]
fn atomics_and_plain_accesses() {
    let sum = "atom.shared.add.u32 %w, [s], 1; red.global.add.u32 [%p0], 1;";
    // Reading the sum needs a barrier.
    let body = |between: &str| format!("{sum} {between} ld.shared.u32 %v, [s];");
    twins((2, 64), &body(""), &body("bar.sync 0;"));
    let plain = "ld.global.u32 %w, [%p0]; add.u32 %w, %w, 1; st.global.u32 [%p0], %w;";
    twins((2, 1), plain, "red.global.add.u32 [%p0], 1;");
    // An atomic of the block's scope is none to other blocks.
    twins((2, 1), "red.global.cta.add.u32 [%p0], 1;", "red.global.gpu.add.u32 [%p0], 1;");
    twins(
        (2, 1),
        "red.cta.global.add.u32 [%p0], 1;",
        "setp.eq.u32 %q, %b, 0; @%q red.cta.global.add.u32 [%p0], 1;",
    );
}

#[test]
fn blocks_of_a_grid() {
    let own = "mad.lo.u32 %w, %b, 32, %t; mul.wide.u32 %x, %w, 4; add.u64 %x, %x, %p0;";
    // Each writes its own; each writes what another one has.
    let faulty = "mul.wide.u32 %x, %t, 4; add.u64 %x, %x, %p0; st.global.u32 [%x], %b;";
    twins((2, 32), faulty, &format!("{own} st.global.u32 [%x], %b;"));
    // Reading what another block wrote.
    let shared = format!("{own} st.global.u32 [%x], %b; ld.global.u32 %v, [%p0+4];");
    twins((4, 32), &shared, &format!("{own} st.global.u32 [%x], %b; ld.global.u32 %v, [%x];"));
    // Many readers of one word, and a writer in a block of its own.
    let body = |write: &str| {
        format!(
            "ld.global.u32 %v, [%p0]; bar.sync 0; ld.global.u32 %v, [%p0]; \
             setp.eq.u32 %q, %b, 7; {write}"
        )
    };
    let faulty = body("@%q st.global.u32 [%p0], %v;");
    twins(
        (8, 64),
        &faulty,
        &body("@%q st.global.u32 [%p0+4], 1;").replace("7;", "7; setp.eq.and.u32 %q, %t, 0, %q;"),
    );
}

/// The last block to come reads what all have written (NVIDIA's sample threadFenceReduction).
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
fn a_fence_before_the_ticket() {
    twins((6, 64), &last_block("", ""), &last_block("membar.gl;", ""));
    twins((6, 64), &last_block("fence.acq_rel.cta;", ""), &last_block("fence.sc.gpu;", ""));
    // A release of the ticket itself will do.
    let faulty = last_block("", "").replace("atom.global", "atom.acquire.gpu.global");
    let clean = last_block("", "").replace("atom.global", "atom.acq_rel.gpu.global");
    twins((6, 64), &faulty, &clean);
    // The fence has to be the writer's: that of lane 0 does not cover what its neighbours wrote.
    let body = |barrier: &str| {
        format!(
            "mad.lo.u32 %a, %b, 32, %t; mul.wide.u32 %x, %a, 4; add.u64 %x, %x, %p0; \
             st.global.u32 [%x], 1; {barrier} setp.ne.u32 %q, %t, 0; @%q bra WAIT; membar.gl; \
             atom.global.add.u32 %w, [%p0+512], 1; membar.gl; setp.ne.u32 %u, %w, 1; @%u bra WAIT; \
             ld.global.u32 %v, [%p0+8]; ld.global.u32 %v, [%p0+136]; WAIT:"
        )
    };
    twins((2, 32), &body(""), &body("bar.sync 0;"));
    twins((2, 32), &body(""), &body("bar.warp.sync -1;"));
}

#[test]
fn a_flag_between_warps() {
    // Warp 0 writes data and a flag, warp 1 spins on the flag.
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
    twins((1, 64), &format!("{head} {}", body(plain, acquire)), &clean);
    let relaxed = release.replace("release", "relaxed");
    twins((1, 64), &format!("{head} {}", body(&relaxed, acquire)), &clean);
    let lazy = acquire.replace("acquire", "relaxed");
    twins((1, 64), &format!("{head} {}", body(release, &lazy)), &clean);
    // Volatile, with fences.
    let volatile = |fence: &str| {
        format!("setp.eq.u32 %u, %t, 0; {fence} @%u st.volatile.shared.u32 [s+256], 1;")
    };
    let load = "ld.volatile.shared.u32 %w, [s+256];";
    let clean = format!("{head} {}", body(&volatile("membar.cta;"), load));
    twins((1, 64), &format!("{head} {}", body(&volatile(""), load)), &clean);
}

/// A barrier of the whole grid, as cooperative groups make it: block 0's thread 0 counts, and all
/// wait for the count.
fn grid_barrier(fence: &str) -> String {
    format!(
        "bar.sync 0; setp.ne.u32 %q, %t, 0; @%q bra AFTER; mov.u32 %a, %nctaid.x; {fence} \
         red.global.add.u32 [%p0+1000], 1; SPIN: ld.volatile.global.u32 %w, [%p0+1000]; \
         setp.lt.u32 %u, %w, %a; @%u bra SPIN; {fence} AFTER: bar.sync 0;"
    )
}

#[test]
fn a_barrier_of_a_cooperative_grid() {
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
fn a_copy_that_has_not_been_waited_for() {
    let body = |wait: &str, barrier: &str| {
        format!(
            "mul.wide.u32 %x, %t, 4; add.u64 %x, %x, %p0; \
             cp.async.ca.shared.global [%i], [%x], 4; cp.async.commit_group; {wait} {barrier} \
             {MIRROR} ld.shared.u32 %v, [%a];"
        )
    };
    let clean = body("cp.async.wait_group 0;", "bar.sync 0;");
    twins((1, 64), &body("", "bar.sync 0;"), &clean);
    twins((1, 64), &body("cp.async.wait_group 1;", "bar.sync 0;"), &clean);
    twins((1, 64), &body("cp.async.wait_group 0;", ""), &clean);
    twins((1, 64), &body("", "bar.sync 0;"), &body("cp.async.wait_all;", "bar.sync 0;"));
    // Its own copy needs the wait too, and no barrier.
    let own = |wait: &str| body(wait, "").replace("[%a]", "[%i]");
    twins((1, 64), &own(""), &own("cp.async.wait_all;"));
}

#[test]
fn one_launch_comes_after_the_other() {
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

#[test]
fn a_plain_load_that_a_compare_and_swap_checks() {
    // CUDA C++ Programming Guide, "Atomic Functions": addition by compare-and-swap.
    let body = |use_of_it: &str| {
        format!(
            "ld.global.u32 %v, [%p0+8]; add.u64 %x, %p0, 8; mov.u64 %y, %x; \
             AGAIN: mov.u32 %w, %v; add.u32 %c, %w, 1; {use_of_it} \
             setp.ne.u32 %q, %v, %w; @%q bra AGAIN;"
        )
    };
    let checked = body("atom.global.cas.b32 %v, [%y], %w, %c;");
    // What is loaded is kept beside what the atomic operation gives: nothing checks it.
    let kept = body("atom.global.add.u32 %a, [%y], 1;");
    // Another address than the one that was loaded from.
    let elsewhere = checked.replace("%x, %p0, 8", "%x, %p0, 12") + "red.global.add.u32 [%p0+8], 1;";
    for shape in [(1, 32), (1, 64), (3, 32)] {
        twins(shape, &kept, &checked);
        twins(shape, &elsewhere, &checked);
    }
    let fault = run(&device(1), (1, 64), &kept).unwrap_err().to_string();
    assert!(fault.contains("the read is weak, the write strong"), "{fault}");
    assert!(fault.contains("\"Data-Races\""), "{fault}");
}

/// As NVRTC has it without optimisation: the compare-and-swap is in a function, which another one calls.
#[test]
fn a_plain_load_that_a_compare_and_swap_in_a_function_checks() {
    let functions = |address: &str| {
        format!(
            ".func (.param .b32 old) inner(.param .b64 at, .param .b32 compared, .param .b32 value)\n\
             {{\n.reg .b64 %a;\n.reg .b32 %c, %v;\nld.param.u64 %a, [at];\n\
             ld.param.u32 %c, [compared];\nld.param.u32 %v, [value];\n{address}\n\
             atom.cas.b32 %v, [%a], %c, %v;\nst.param.b32 [old], %v;\nret;\n}}\n\
             .func (.reg .b32 %old) outer(.reg .b32 %compared, .reg .b64 %at)\n\
             {{\n.reg .b32 %v;\nadd.u32 %v, %compared, 1;\n.param .b64 a;\n.param .b32 c, n, r;\n\
             st.param.b64 [a], %at;\nst.param.b32 [c], %compared;\nst.param.b32 [n], %v;\n\
             call (r), inner, (a, c, n);\nld.param.b32 %old, [r];\nret;\n}}\n.visible .entry"
        )
    };
    let body = format!(
        "{HEAD} ld.global.u32 %v, [%p0+8]; add.u64 %x, %p0, 8; AGAIN: mov.u32 %w, %v; \
         call (%v), outer, (%w, %x); setp.ne.u32 %q, %v, %w; @%q bra AGAIN; ret;"
    );
    let run = |emulator: &Emulator, address: &str| {
        let text = kernel(1, &body).replace(".visible .entry", &functions(address));
        let kernel = load(emulator, &text).kernel("k").unwrap();
        let parameters = words(emulator, &[0; 64]).to_le_bytes().to_vec();
        let launch = Launch { grid: [2, 1, 1], block: [64, 1, 1], parameters, ..Launch::default() };
        emulator.launch(&kernel, &launch).map(|_| ())
    };
    for emulator in devices() {
        if let Err(fault) = run(&emulator, "") {
            panic!("{fault}");
        }
        // Its address is another one, which nobody's load has read; the word that was loaded is added to.
        let fault = run(&emulator, "red.add.u32 [%a], 1; add.u64 %a, %a, 8; mov.u32 %c, 0;");
        assert_eq!(fault.err().map(|fault| fault.kind), Some(FaultKind::Race));
    }
}

#[test]
fn the_last_of_the_blocks_sets_the_counter_back() {
    // As in the sample threadFenceReduction; %v is what the counter was.
    let body = |which: &str| {
        format!(
            "setp.ne.u32 %q, %t, 0; @%q bra END; membar.gl; atom.global.inc.u32 %v, [%p0], 100; \
             setp.eq.u32 %q, %v, {which}; @%q st.global.u32 [%p0], 0; END:"
        )
    };
    // The first knows nothing of those that count after it; who is last has observed them all.
    twins((4, 32), &body("0"), &body("3"));
    // Through a barrier, by another thread of the block.
    let other = "setp.ne.u32 %q, %t, 0; @%q bra WAIT; atom.global.inc.u32 %v, [%p0], 100; \
                 st.shared.u32 [s], %v; WAIT: bar.sync 0; ld.shared.u32 %v, [s]; \
                 setp.eq.u32 %q, %v, 3; setp.eq.and.u32 %q, %t, 33, %q; \
                 @%q st.global.u32 [%p0], 0;";
    twins((4, 64), &other.replace("bar.sync 0;", ""), other);
}

#[test]
fn a_flag_is_set_back_by_who_has_read_it() {
    let body = |load: &str| {
        format!(
            "setp.eq.u32 %q, %b, 0; @%q bra SET; AGAIN: {load} %v, [%p0]; setp.eq.u32 %q, %v, 0; \
             @%q bra AGAIN; st.global.u32 [%p0], 0; bra END; SET: st.volatile.global.u32 [%p0], 1; END:"
        )
    };
    twins((2, 1), &body("ld.global.u32"), &body("ld.volatile.global.u32"));
}
