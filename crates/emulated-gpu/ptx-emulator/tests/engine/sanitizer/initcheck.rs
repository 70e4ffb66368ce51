//! initcheck: reads of uninitialised memory and registers.

use ptx_emulator::memory::Reach;
use ptx_emulator::source::Source;
use ptx_emulator::{Checks, Emulator, Fault, FaultKind, Launch, RunOptions};

use crate::ptx::{kernel, kernel_with, launch, words};

fn device() -> Emulator {
    let checks = Checks { initialisation: true, ..Checks::default() };
    let limit = Some(10_000_000);
    Emulator::new(RunOptions { checks, instruction_limit: limit, ..RunOptions::default() })
}

fn run(body: &str, threads: u32) -> Result<(), Fault> {
    let emulator = device();
    let array = words(&emulator, &[1; 64]);
    let text = kernel(1, &format!(".reg .b32 %t;\nmov.u32 %t, %tid.x;\n{body}\nret;"));
    launch(&emulator, &text, ([2, 1, 1], [threads, 1, 1]), &[array]).map(|_| ())
}

fn assert_only_faulty_reported(threads: u32, faulty: &str, clean: &str) {
    let kind = run(faulty, threads).err().map(|fault| fault.kind);
    assert_eq!(kind, Some(FaultKind::Uninitialised), "{faulty}");
    if let Err(fault) = run(clean, threads) {
        panic!("{clean}\n{fault}");
    }
}

#[test]
fn reads_of_uninitialised_memory_are_reported() {
    // The instructions that write (only in the clean version), and the instructions that read.
    let cases = [
        ("st.global.u16 [%p0+4], 1; st.global.u16 [%p0+6], 1;", "ld.global.u32 %v, [%p0+4];"),
        ("st.global.u32 [%p0], 1;", "red.global.add.u32 [%p0], 1;"),
        ("st.shared.u32 [s+4], 1;", "ld.shared.u32 %v, [s+4];"),
        (
            "st.local.u32 [l], 1;",
            "mov.u64 %a, l; cvta.local.u64 %a, %a; ld.u32 %v, [%a]; not.b32 %v, %v;",
        ),
        ("st.global.u64 [%p0], 1;", "mov.u32 %v, s; cp.async.ca.shared.global [%v], [%p0], 8;"),
        ("st.param.b32 [in], 5;", "call (back), f, (in); ld.param.b32 %v, [back]; not.b32 %v, %v;"),
    ];
    for (write, read) in cases {
        for (write, faulty) in [(write, false), ("", true)] {
            let emulator = device();
            let array = emulator.memory().allocate(16, 4).unwrap();
            let body = format!(
                ".shared .align 8 .b8 s[16];\n.local .align 4 .b8 l[8];\n.param .b32 in;\n\
                 .param .b32 back;\n.reg .b32 %v;\n.reg .b64 %a;\n{write}\n{read}\nret;"
            );
            let text = kernel_with(
                ".func (.param .b32 result) f(.param .b32 value)\n{\n.reg .b32 %x;\n\
                 ld.param.b32 %x, [value];\nst.param.b32 [result], %x;\nret;\n}\n",
                1,
                &body,
            );
            let result = launch(&emulator, &text, ([2, 1, 1], [1, 1, 1]), &[array]);
            let kind = result.err().map(|fault| fault.kind);
            assert_eq!(kind, faulty.then_some(FaultKind::Uninitialised), "{write} {read}");
        }
    }
}

#[test]
fn writes_by_the_host_count_as_initialisation() {
    let emulator = device();
    let (a, b) = (words(&emulator, &[1]), emulator.memory().allocate(4, 4).unwrap());
    let reads = |address: u64| {
        let text = kernel(1, ".reg .b32 %v;\nld.global.u32 %v, [%p0];\nret;");
        launch(&emulator, &text, ([1; 3], [32, 1, 1]), &[address]).map(|_| ())
    };
    reads(a).unwrap();
    assert_eq!(reads(b).unwrap_err().kind, FaultKind::Uninitialised);
    // A host library can also query whether memory is initialised.
    let memory = emulator.memory();
    assert_eq!(memory.check_read(b, 4, Reach::default()), Ok(Some(b)));
    memory.copy(b, a, 4).unwrap();
    assert_eq!(memory.check_read(b, 4, Reach::default()), Ok(None));
    reads(b).unwrap();
    let c = memory.allocate(8, 4).unwrap();
    memory.check_write(c, 4, Reach::default()).unwrap();
    reads(c).unwrap();
    assert_eq!(memory.check_read(c, 8, Reach::default()), Ok(Some(c + 4)));
    assert!(
        memory.check_read(c, 12, Reach::default()).is_err()
            && memory.check_write(c, 12, Reach::default()).is_err()
    );
}

#[test]
fn reads_of_uninitialised_registers_are_reported() {
    let registers = ".reg .b32 %v, %w; .reg .b64 %d; .reg .pred %q, %u; .reg .b16 %h;";
    let twins = |faulty: &str, clean: &str| {
        assert_only_faulty_reported(
            32,
            &format!("{registers}\n{faulty}"),
            &format!("{registers}\n{clean}"),
        );
    };
    // A read in arithmetic, in an address, in a guard, in a store.
    twins("add.u32 %w, %v, 1;", "mov.u32 %v, 3; add.u32 %w, %v, 1;");
    twins("ld.global.u32 %w, [%d];", "mov.u64 %d, %p0; ld.global.u32 %w, [%d];");
    twins("@%q mov.u32 %w, 1;", "setp.eq.u32 %q, %t, 1; @%q mov.u32 %w, 1;");
    twins("@!%q bra END; END:", "setp.eq.u32 %q, %t, 1; @!%q bra END; END:");
    twins("st.global.u32 [%p0], %v;", "mov.u32 %v, 1; st.global.u32 [%p0], %v;");
    // The register is only written in one of two branches.
    twins(
        "setp.lt.u32 %q, %t, 31; @%q mov.u32 %v, 1; add.u32 %w, %v, 1;",
        "setp.lt.u32 %q, %t, 31; @%q mov.u32 %v, 1; @%q add.u32 %w, %v, 1;",
    );
    // A copy has the state of the original, and a selection has the state of the selected operand.
    twins("mov.u32 %w, %v; not.b32 %w, %w;", "mov.u32 %w, %v; mov.u32 %w, 4; not.b32 %w, %w;");
    let select =
        |then: &str| format!("setp.lt.u32 %q, %t, 32; selp.u32 %w, {then}, %q; add.u32 %w, %w, 1;");
    twins(&select("%v, 1"), &select("1, %v"));
    // A register that is packed from an initialised and an uninitialised part counts as initialised.
    twins("mov.b32 %w, {%h, %h}; add.u32 %w, %w, 1;", "mov.b32 %w, {1, %h}; add.u32 %w, %w, 1;");
    // Each block begins with uninitialised registers, even if another block ran before it on the same thread.
    twins(
        "mov.u32 %w, %ctaid.x; setp.eq.u32 %q, %w, 0; @%q mov.u32 %v, 1; add.u32 %w, %v, 1;",
        "mov.u32 %w, %ctaid.x; setp.eq.u32 %q, %w, 0; @%q mov.u32 %v, 1; @%q add.u32 %w, %v, 1;",
    );
}

/// Compilers copy padding, and set bit fields in words that are not initialised yet.
#[test]
fn copies_of_uninitialised_values_are_not_reported() {
    let head = ".local .align 8 .b8 l[16]; .reg .b32 %v, %w; .reg .b64 %a, %d; .reg .b16 %h; \
                mov.u64 %a, l; cvta.local.u64 %a, %a;";
    let twins = |faulty: &str, clean: &str| {
        assert_only_faulty_reported(32, &format!("{head}\n{faulty}"), &format!("{head}\n{clean}"))
    };
    let with = |text: &str, what: &str| format!("{text} {what}");
    // An uninitialised value may be stored in memory that is private to the thread. Reading it back is then the
    // error.
    let read = "ld.local.u32 %w, [l]; add.u32 %w, %w, 1;";
    for store in ["st.local.u32 [l], %v;", "st.u32 [%a], %v;"] {
        twins(&with(store, read), store);
        twins(
            &with("st.local.u32 [l], 1;", &with(store, read)),
            &with(store, "st.local.u32 [l], 1;"),
        );
        twins(
            &store.replace("%a", "%p0").replace(".local", ".global").replace("[l]", "[%p0]"),
            store,
        );
    }
    // A word becomes initialised if a bit field in it is written.
    let field = "ld.u32 %v, [%a]; and.b32 %v, %v, -255; or.b32 %v, %v, 6; st.u32 [%a], %v;";
    twins(&with(&field.replace("or.b32 %v, %v, 6;", ""), read), &with(field, read));
    // A copy of a partly initialised structure counts as initialised; a copy of an uninitialised one does not.
    let copy =
        "ld.local.u64 %d, [l]; st.local.u64 [l+8], %d; ld.local.u32 %w, [l+8]; add.u32 %w, %w, 1;";
    twins(copy, &with("st.local.u32 [l+4], 3;", copy));
    // Memory must only be initialised if the loaded value is used.
    twins("ld.local.u32 %v, [l]; not.b32 %v, %v;", "ld.local.u32 %v, [l];");
    twins(
        "ld.local.u32 %v, [l]; st.global.u32 [%p0], %v;",
        "ld.local.u32 %v, [l]; st.local.u32 [l], %v;",
    );
    twins(
        "ld.local.u16 %h, [l]; cvt.u32.u16 %v, %h;",
        "ld.local.u16 %h, [l]; st.local.u16 [l+2], %h;",
    );
}

#[test]
fn parameters_of_functions_are_initialised() {
    let text = kernel_with(
        ".func (.reg .b32 %out) twice(.reg .b32 %in)\n{\nadd.u32 %out, %in, %in;\nret;\n}\n",
        0,
        ".reg .b32 %v;\ncall (%v), twice, (21);\nadd.u32 %v, %v, 1;\nret;",
    );
    launch(&device(), &text, ([1; 3], [32, 1, 1]), &[]).unwrap();
}

#[test]
fn the_report_names_the_register() {
    let body =
        ".reg .b32 %sum;\nsetp.lt.u32 %q, %t, 30;\n@%q mov.u32 %sum, 0;\nadd.u32 %sum, %sum, %t;";
    let fault = run(&format!(".reg .pred %q;\n{body}"), 32).unwrap_err();
    assert_eq!(fault.thread, Some([30, 0, 0]));
    let report = fault.to_string();
    assert!(report.contains("%sum is read, but this thread has not written it"), "{report}");
    assert!(report.contains("the same in 1 other lanes of the warp"), "{report}");
    assert!(report.contains("add.u32 %sum, %sum, %t;"), "{report}");
}

/// NVRTC's output for correct CUDA C is not flagged.
#[test]
fn compiled_kernels_are_clean() {
    const PTX: &str = include_str!("../../../benches/kernels/matmul.ptx");
    let checks = Checks { initialisation: true, races: true, synchronisation: true };
    let emulator = Emulator::new(RunOptions { checks, ..RunOptions::default() });
    let loaded =
        emulator.load(Source { name: "matmul.ptx".into(), text: PTX.into() }).expect("NVRTC's PTX");
    let (m, k, n) = (20, 33, 40);
    let [a, b, c] = [m * k, k * n, m * n].map(|len| words(&emulator, &vec![0x3f80_0000; len]));
    for name in ["naive", "tiled", "flat"] {
        let mut parameters: Vec<u8> = [a, b, c].iter().flat_map(|p| p.to_le_bytes()).collect();
        parameters.extend([m, n, k].iter().flat_map(|&n| (n as u32).to_le_bytes()));
        let (grid, block) = match name {
            "flat" => ([4, 1, 1], [256, 1, 1]),
            _ => ([3, 2, 1], [16, 16, 1]),
        };
        let kernel = loaded.kernel(name).unwrap();
        emulator
            .launch(&kernel, &Launch { grid, block, parameters, ..Launch::default() })
            .unwrap_or_else(|fault| panic!("{fault}"));
        assert_eq!(crate::ptx::read(&emulator, c, m * n), vec![33f32.to_bits(); m * n]);
    }
    let out = emulator.memory().allocate(16, 4).unwrap();
    let mut parameters: Vec<u8> = [a, out].iter().flat_map(|p| p.to_le_bytes()).collect();
    parameters.extend(600u32.to_le_bytes());
    let launch = Launch { grid: [4, 1, 1], block: [128, 1, 1], parameters, ..Launch::default() };
    emulator
        .launch(&loaded.kernel("reduce").unwrap(), &launch)
        .unwrap_or_else(|fault| panic!("{fault}"));
    let sums = crate::ptx::read(&emulator, out, 4);
    assert_eq!(sums.iter().map(|&bits| f32::from_bits(bits)).sum::<f32>(), 600.0);
}

#[test]
fn unread_shuffle_operands_may_be_uninitialised() {
    // In an aggregated atomic operation, only the leader has a value, and all lanes read it.
    let body = |from: &str| {
        format!(
            ".reg .b32 %v, %w;\n.reg .pred %q;\nsetp.eq.u32 %q, %t, 0;\n@%q mov.u32 %v, 5;\n\
             shfl.sync.idx.b32 %w, %v, {from}, 31, -1;\nadd.u32 %w, %w, 1;"
        )
    };
    assert_only_faulty_reported(32, &body("1"), &body("0"));
    assert_only_faulty_reported(32, &body("%t"), &body("0"));
    // The other operands must be initialised.
    let distance = ".reg .b32 %v, %w;\nshfl.sync.idx.b32 %v, %t, %w, 31, -1;";
    assert_only_faulty_reported(32, distance, &distance.replace("shfl", "mov.u32 %w, 0;\nshfl"));
}
