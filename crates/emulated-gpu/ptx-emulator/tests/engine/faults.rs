//! Tests of each kind of fault, each with a similar clean kernel that must not be flagged.

use ptx_emulator::{Checks, Emulator, Fault, FaultKind, RunOptions};

use crate::ptx::{emulator, kernel, launch, words};

fn run(body: &str, threads: u32, pointers: &[u64], emulator: &Emulator) -> Result<(), Fault> {
    let text = kernel(pointers.len(), body);
    launch(emulator, &text, ([1, 1, 1], [threads, 1, 1]), pointers).map(|_| ())
}

const INDEX: &str = ".reg .b32 %t;\n.reg .b64 %o;\nmov.u32 %t, %tid.x;\nmul.wide.u32 %o, %t, 4;\n\
    add.u64 %o, %o, %p0;\n";

#[test]
fn an_access_past_the_end_is_a_fault() {
    for (count, faulty) in [(33, true), (32, false)] {
        let emulator = emulator();
        // Allocations on both sides, so that only the gaps between them reveal the fault.
        let _before = words(&emulator, &[0; 32]);
        let array = words(&emulator, &[0; 32]);
        let _after = words(&emulator, &[0; 32]);
        let result =
            run(&format!("{INDEX}st.global.u32 [%o], %t;\nret;"), count, &[array], &emulator);
        assert_eq!(result.is_err(), faulty);
        if let Err(fault) = result {
            assert_eq!(fault.kind, FaultKind::IllegalAddress);
            assert_eq!((fault.address, fault.thread), (Some(array + 128), Some([32, 0, 0])));
            let report = fault.to_string();
            assert!(report.contains("st.global.u32 [%o], %t;"), "{report}");
            assert!(
                report.contains("0 bytes after the end of the allocation of 128 bytes"),
                "{report}"
            );
            assert!(report.contains("kernel  k, block (0, 0, 0), thread (32, 0, 0)"), "{report}");
        }
    }
}

#[test]
fn a_fault_in_a_contiguous_load_names_the_first_lane_outside() {
    let emulator = emulator();
    let array = words(&emulator, &[0; 20]);
    let fault =
        run(&format!("{INDEX}ld.global.u32 %t, [%o];\nret;"), 32, &[array], &emulator).unwrap_err();
    assert_eq!((fault.kind, fault.thread), (FaultKind::IllegalAddress, Some([20, 0, 0])));
}

#[test]
fn misaligned_accesses_are_faults() {
    for (offset, faulty) in [(2, true), (4, false)] {
        let emulator = emulator();
        let array = words(&emulator, &[0; 4]);
        let body = format!(".reg .b32 %v;\nld.global.u32 %v, [%p0+{offset}];\nret;");
        let result = run(&body, 32, &[array], &emulator);
        assert_eq!(result.as_ref().err().map(|f| f.kind), faulty.then_some(FaultKind::Misaligned));
    }
    // A vector must be aligned as a whole.
    for (offset, faulty) in [(4, true), (8, false)] {
        let emulator = emulator();
        let array = words(&emulator, &[0; 4]);
        let body =
            format!(".reg .b32 %v<2>;\nld.global.v2.u32 {{%v0, %v1}}, [%p0+{offset}];\nret;");
        let result = run(&body, 1, &[array], &emulator);
        assert_eq!(result.as_ref().err().map(|f| f.kind), faulty.then_some(FaultKind::Misaligned));
    }
}

#[test]
fn accesses_to_freed_memory_are_faults() {
    for faulty in [true, false] {
        let emulator = emulator();
        let array = words(&emulator, &[0; 4]);
        if faulty {
            emulator.memory().free(array).unwrap();
        }
        let result = run(".reg .b32 %v;\nld.global.u32 %v, [%p0+4];\nret;", 1, &[array], &emulator);
        let expected = faulty.then_some(FaultKind::UseAfterFree);
        assert_eq!(result.as_ref().err().map(|f| f.kind), expected);
        if let Err(fault) = result {
            assert!(
                fault.to_string().contains("4 bytes into an allocation of 16 bytes"),
                "{fault}"
            );
        }
    }
}

#[test]
fn shared_local_and_generic_addresses_have_bounds_too() {
    let cases = [
        (".shared .align 4 .b8 s[8];\n.reg .b32 %v;\nld.shared.u32 %v, [s+OFFSET];\nret;", 4),
        (".local .align 4 .b8 l[16];\n.reg .b32 %v;\nld.local.u32 %v, [l+OFFSET];\nret;", 12),
        (
            ".shared .align 4 .b8 s[16];\n.reg .b32 %v;\n.reg .b64 %a;\nmov.u64 %a, s;\n\
             cvta.shared.u64 %a, %a;\nld.u32 %v, [%a+OFFSET];\nret;",
            12,
        ),
    ];
    for (body, last) in cases {
        for (offset, faulty) in [(last, false), (16, true)] {
            let body = body.replace("OFFSET", &offset.to_string());
            let result = run(&body, 32, &[], &emulator());
            let kind = result.err().map(|fault| fault.kind);
            assert_eq!(kind, faulty.then_some(FaultKind::IllegalAddress), "{body}");
        }
    }
}

#[test]
fn a_null_pointer_is_reported_as_such() {
    let fault =
        run(".reg .b32 %v;\nld.global.u32 %v, [%p0];\nret;", 1, &[0], &emulator()).unwrap_err();
    assert!(fault.to_string().contains("null pointer"), "{fault}");
}

#[test]
fn warps_at_different_barriers_deadlock() {
    let body = |second: u32| {
        format!(
            ".reg .b32 %t;\n.reg .pred %q;\nmov.u32 %t, %tid.x;\nsetp.lt.u32 %q, %t, 32;\n\
             @%q bra LOW;\nbar.sync 1, 64;\nbra END;\nLOW: bar.sync {second}, 64;\nEND: ret;"
        )
    };
    let fault = run(&body(2), 64, &[], &emulator()).unwrap_err();
    assert_eq!(fault.kind, FaultKind::Deadlock);
    assert!(fault.to_string().contains("wait at barrier 2"), "{fault}");
    run(&body(1), 64, &[], &emulator()).unwrap();
}

#[test]
fn synccheck_reports_lanes_at_different_barriers() {
    let checks = Checks { synchronisation: true, ..Checks::default() };
    let checked = Emulator::new(RunOptions { checks, ..RunOptions::default() });
    let body = ".reg .b32 %t;\n.reg .pred %q;\nmov.u32 %t, %tid.x;\nsetp.lt.u32 %q, %t, 16;\n\
        @%q bra LOW;\nbar.sync 0;\nbra END;\nLOW: bar.sync 0;\nEND: ret;";
    let fault = run(body, 32, &[], &checked).unwrap_err();
    assert_eq!(fault.kind, FaultKind::BarrierDivergence);
    // The clean version: lanes that have exited are not missed.
    let clean = ".reg .b32 %t;\n.reg .pred %q;\nmov.u32 %t, %tid.x;\nsetp.lt.u32 %q, %t, 16;\n\
        @%q ret;\nbar.sync 0;\nret;";
    run(clean, 32, &[], &checked).unwrap();
}

#[test]
fn member_masks() {
    let body = |mask: u32| {
        format!(
            ".reg .b32 %v;\nmov.u32 %v, %tid.x;\nshfl.sync.idx.b32 %v, %v, 0, 31, {mask};\nret;"
        )
    };
    let fault = run(&body(0xffff), 32, &[], &emulator()).unwrap_err();
    assert_eq!((fault.kind, fault.thread), (FaultKind::BadMemberMask, Some([16, 0, 0])));
    run(&body(0xffff), 16, &[], &emulator()).unwrap();
    // Half of the lanes wait for the other half, which waits at another instruction.
    let body = |other: &str| {
        format!(
            ".reg .b32 %t;\n.reg .pred %q;\nmov.u32 %t, %tid.x;\nsetp.lt.u32 %q, %t, 16;\n\
             @%q bra LOW;\nbar.warp.sync -1;\nbra END;\nLOW: {other}\nEND: ret;"
        )
    };
    let fault = run(&body("redux.sync.add.u32 %t, %t, -1;"), 32, &[], &emulator()).unwrap_err();
    assert_eq!(fault.kind, FaultKind::Deadlock);
    run(&body("bar.warp.sync -1;"), 32, &[], &emulator()).unwrap();
}

#[test]
fn endless_loops_and_traps_are_faults() {
    let fault = run("FOREVER: bra FOREVER;", 32, &[], &emulator()).unwrap_err();
    assert_eq!(fault.kind, FaultKind::Runaway);
    let fault = run("trap;", 32, &[], &emulator()).unwrap_err();
    assert_eq!(fault.kind, FaultKind::Trap);
}

#[test]
fn a_branch_beyond_its_table_is_a_fault() {
    let body = ".reg .b32 %t;\nmov.u32 %t, %tid.x;\nts: .branchtargets A, B;\nbrx.idx %t, ts;\nA: ret;\nB: ret;";
    run(body, 2, &[], &emulator()).unwrap();
    let fault = run(body, 3, &[], &emulator()).unwrap_err();
    assert_eq!((fault.kind, fault.thread), (FaultKind::InvalidInstruction, Some([2, 0, 0])));
}
