//! `check --fidelity`: how closely every instruction of a file matches a real card.

use std::fs;
use std::process::{Command, Output};

fn fidelity(ptx: &str) -> Output {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("kernel.ptx");
    fs::write(&path, ptx).unwrap();
    Command::new(env!("CARGO_BIN_EXE_ptx-emulator"))
        .args(["check", "--fidelity", path.to_str().unwrap()])
        .output()
        .unwrap()
}

const HEAD: &str = "\
.version 8.0
.target sm_90
.address_size 64
.visible .entry all(.param .u64 out)
{
    .reg .pred %p; .reg .b32 %r<9>; .reg .f32 %f<9>; .reg .f64 %d<3>; .reg .b64 %rd;
";

/// The fidelity that a report states for an instruction.
fn fidelity_of<'a>(report: &'a str, opcode: &str) -> &'a str {
    let line = report.lines().find(|line| line.split_whitespace().nth(1) == Some(opcode));
    let line = line.unwrap_or_else(|| panic!("{opcode} is not in:\n{report}"));
    line.split_once(opcode).unwrap().1.trim()
}

#[test]
fn every_instruction_has_a_fidelity() {
    let body = "\
    add.rn.f32 %f0, %f1, %f2;
    add.rn.f32 %f0, %f1, %f2;
    setp.eq.s32 %p, %r0, %r1;
    @%p ex2.approx.ftz.f32 %f0, %f1;
    rcp.approx.f32 %f0, %f1;
    rcp.rn.f32 %f0, %f1;
    div.full.f32 %f0, %f1, %f2;
    div.rn.f32 %f0, %f1, %f2;
    div.s32 %r0, %r1, %r2;
    mov.u32 %r0, %tid.x;
    mov.u32 %r0, %clock;
    ld.param.u64 %rd, [out];
    red.global.add.f32 [%rd], %f0;
    red.global.add.u32 [%rd], %r0;
    mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%f0,%f1,%f2,%f3}, {%r0,%r1,%r2,%r3}, {%r4,%r5}, {%f4,%f5,%f6,%f7};
    mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {%r0,%r1}, {%r2}, {%r3}, {%r4,%r5};
    ret;
}
";
    let output = fidelity(&[HEAD, body].concat());
    let report = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0), "{report}");
    for exact in [
        "add.rn.f32",
        "setp.eq.s32",
        "rcp.rn.f32",
        "div.rn.f32",
        "red.global.add.u32",
        "mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32",
        "ret",
    ] {
        assert_eq!(fidelity_of(&report, exact), "exact", "{exact}");
    }
    assert!(report.contains("     2  add.rn.f32 "), "{report}");
    assert_eq!(fidelity_of(&report, "ex2.approx.ftz.f32"), "within the ISA's error: 2 ulp");
    assert_eq!(fidelity_of(&report, "rcp.approx.f32"), "within the ISA's error: 1 ulp");
    assert_eq!(fidelity_of(&report, "div.full.f32"), "within the ISA's error: 2 ulp");
    for (opcode, why) in [
        ("div.s32", "division by zero"),
        ("red.global.add.f32", "the order in which"),
        ("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32", "as measured"),
    ] {
        let fidelity = fidelity_of(&report, opcode);
        assert!(
            fidelity.starts_with("exact as far as known: ") && fidelity.contains(why),
            "{opcode}: {fidelity}"
        );
    }
    // One `mov` reads the clock, the other doesn't.
    assert!(report.contains("mov.u32                           exact\n"), "{report}");
    assert!(
        report.contains(
            "mov.u32                           exact as far as known: the emulator's own clock"
        ),
        "{report}"
    );
    let end =
        "17 instructions: 10 exact, 4 exact as far as known, 3 within the ISA's error, 0 refused\n";
    assert!(report.ends_with(end), "{report}");
}

#[test]
fn refused_instructions_are_listed() {
    let body = "    @%p wgmma.fence.sync.aligned;\n    add.f32 %f0, %f1, %f2;\n    ret;\n}\n";
    let output = fidelity(&[HEAD, body].concat());
    let report = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(1), "{report}");
    assert_eq!(fidelity_of(&report, "wgmma.fence.sync.aligned"), "refused");
    assert!(
        report.ends_with("1 refused; the others are listed once nothing is refused\n"),
        "{report}"
    );
    assert!(!report.contains("exact"), "{report}");
}

#[test]
fn barrier_objects_are_exact_except_for_repeated_waits() {
    let body = "\
    .shared .align 8 .b64 object;
    mbarrier.init.shared.b64 [object], 32;
    mbarrier.arrive.shared.b64 %rd, [object];
AGAIN:
    mbarrier.try_wait.shared.b64 %p, [object], %rd;
    @!%p bra AGAIN;
    mbarrier.inval.shared.b64 [object];
    ret;
}
";
    let output = fidelity(&[HEAD, body].concat());
    let report = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0), "{report}");
    for (opcode, expected) in [
        ("mbarrier.init.shared.b64", "exact"),
        ("mbarrier.arrive.shared.b64", "exact as far as known: the bits of the returned state"),
        ("mbarrier.try_wait.shared.b64", "exact as far as known: the number of calls"),
        ("mbarrier.inval.shared.b64", "exact"),
    ] {
        let found = fidelity_of(&report, opcode);
        let right =
            if expected == "exact" { found == expected } else { found.starts_with(expected) };
        assert!(right, "{opcode}: {found}");
    }
}
