//! Addresses and strides that are invalid for `wmma`, `ldmatrix` and `stmatrix`: faults.

use emulated_gpu_test_support::ptx::{HEADER, launch};
use ptx_emulator::{Emulator, Fault, FaultKind, RunOptions};

/// Runs `body` on a warp, with generic addresses of global memory in `%p0` and of shared memory in `%p1`, both
/// multiples of 128, of local memory in `%p2`, and the lane's index in `%r0`.
fn run(body: &str) -> Result<(), Fault> {
    let text = format!(
        "{HEADER}.visible .entry k(.param .u64 to, .param .align 64 .b8 given[2048])\n{{\n\
         .reg .b32 %r<20>; .reg .b64 %p<5>;\n\
         .shared .align 128 .b8 box[2048]; .local .align 32 .b8 own[2048];\n\
         ld.param.u64 %p0, [to]; mov.u32 %r0, %laneid;\n\
         mov.u64 %p1, box; cvta.shared.u64 %p1, %p1; mov.u64 %p2, own; cvta.local.u64 %p2, %p2;\n\
         mov.u64 %p3, given; cvta.param.u64 %p3, %p3;\n\
         mov.u32 %r1, box; cvt.u64.u32 %p4, %r0;\n{body}\nret;\n}}\n"
    );
    let emulator = Emulator::new(RunOptions { threads: 1, ..RunOptions::default() });
    let mut parameters = vec![0; (64 + 2048) / 8];
    parameters[0] = emulator.memory().allocate(4096, 128).unwrap();
    launch(&emulator, &text, ([1; 3], [32, 1, 1]), &parameters).map(|_| ())
}

fn registers(count: usize) -> String {
    let list: Vec<String> = (2..2 + count).map(|index| format!("%r{index}")).collect();
    format!("{{{}}}", list.join(","))
}

/// The kind of fault of an instruction after the instructions `before`.
fn kind(instruction: &str, before: &str, operands: &str) -> Option<FaultKind> {
    run(&format!("{before}\n{instruction} {operands};")).err().map(|fault| fault.kind)
}

#[test]
fn wmma_needs_aligned_global_or_shared_memory() {
    // The instruction, the number of registers of a lane, and their total size in bytes.
    let fragments = [
        ("wmma.load.a.sync.aligned.row.m16n16k16.f16", 8, 32),
        ("wmma.load.b.sync.aligned.col.m16n16k16.f16", 8, 32),
        ("wmma.load.c.sync.aligned.row.m16n16k16.f32", 8, 32),
        ("wmma.load.c.sync.aligned.row.m16n16k16.f16", 4, 16),
        ("wmma.store.d.sync.aligned.row.m16n16k16.f32", 8, 32),
        ("wmma.store.d.sync.aligned.col.m16n16k16.f16", 4, 16),
        ("wmma.load.a.sync.aligned.row.m16n16k16.bf16", 4, 16),
        ("wmma.load.a.sync.aligned.row.m16n16k8.tf32", 4, 16),
        ("wmma.load.a.sync.aligned.row.m16n16k16.s8", 2, 8),
        ("wmma.load.b.sync.aligned.row.m32n8k16.u8", 1, 4),
        ("wmma.load.a.sync.aligned.row.m8n8k32.s4", 1, 4),
    ];
    for (instruction, count, align) in fragments {
        let list = registers(count);
        let operands = |address: &str| match instruction.contains("store") {
            true => format!("[{address}], {list}"),
            false => format!("{list}, [{address}]"),
        };
        for base in ["%p0", "%p1"] {
            for (offset, expected) in [
                (0, None),
                (align, None),
                (align / 2, Some(FaultKind::Misaligned)),
                (align + align / 4, Some(FaultKind::Misaligned)),
            ] {
                let address = format!("{base}+{offset}");
                let actual = kind(instruction, "", &operands(&address));
                assert_eq!(actual, expected, "{instruction} {address}");
            }
        }
        for base in ["%p2", "%p3"] {
            let found = kind(instruction, "", &operands(base));
            assert_eq!(found, Some(FaultKind::IllegalAddress), "{instruction} {base}");
        }
        // A different address in each lane is invalid.
        let apart = "mul.lo.u64 %p4, %p4, 128; add.u64 %p4, %p4, %p0;";
        let found = kind(instruction, apart, &operands("%p4"));
        assert_eq!(found, Some(FaultKind::InvalidInstruction), "{instruction}");
    }
}

#[test]
fn wmma_strides_must_be_multiples_of_16_bytes() {
    for (instruction, count, least) in [
        ("wmma.load.a.sync.aligned.row.m16n16k16.f16", 8, 8),
        ("wmma.load.c.sync.aligned.row.m16n16k16.f32", 8, 4),
        ("wmma.load.c.sync.aligned.row.m16n16k16.f16", 4, 8),
        ("wmma.load.a.sync.aligned.row.m16n16k16.s8", 2, 8),
    ] {
        let list = registers(count);
        for (stride, fits) in
            [(16, true), (16 + least, true), (0, false), (16 + least / 2, false), (17, false)]
        {
            let expected = if fits { None } else { Some(FaultKind::InvalidInstruction) };
            // The stride as a constant, and in a register.
            for operand in [stride.to_string(), "%r19".to_owned()] {
                let set = format!("mov.u32 %r19, {stride};");
                let found = kind(instruction, &set, &format!("{list}, [%p0], {operand}"));
                assert_eq!(found, expected, "{instruction} {stride}");
            }
        }
        let found = kind(instruction, "add.u32 %r19, %r0, 16;", &format!("{list}, [%p0], %r19"));
        assert_eq!(
            found,
            Some(FaultKind::InvalidInstruction),
            "{instruction}: a stride for each lane"
        );
    }
    let report = run(
        "wmma.load.a.sync.aligned.row.m16n16k16.f16 {%r2,%r3,%r4,%r5,%r6,%r7,%r8,%r9}, [%p0], 20;",
    );
    let report = report.unwrap_err().to_string();
    assert!(report.contains("wmma.load with a stride (leading dimension) of 20 elements: it has to be a positive multiple of 8"), "{report}");
    let report = run(
        "wmma.load.a.sync.aligned.row.m16n16k16.f16 {%r2,%r3,%r4,%r5,%r6,%r7,%r8,%r9}, [%p2], 16;",
    );
    let report = report.unwrap_err().to_string();
    assert!(report.contains("which is local memory"), "{report}");
}

#[test]
fn ldmatrix_rows_must_be_in_shared_memory_and_aligned_to_16_bytes() {
    for (instruction, operands) in [("ldmatrix", "{%r2}, [A]"), ("stmatrix", "[A], {%r2}")]
        .map(|(name, operands)| (format!("{name}.sync.aligned.m8n8.x1.shared.b16"), operands))
    {
        let found = |address: &str| kind(&instruction, "", &operands.replace('A', address));
        assert_eq!(found("%r1"), None, "{instruction}");
        assert_eq!(found("%r1+8"), Some(FaultKind::Misaligned), "{instruction}");
        let generic = instruction.replace(".shared", "");
        let found = |address: &str| kind(&generic, "", &operands.replace('A', address));
        assert_eq!(found("%p1"), None, "{generic}");
        for base in ["%p0", "%p2", "%p3"] {
            assert_eq!(found(base), Some(FaultKind::IllegalAddress), "{generic} {base}");
        }
    }
}
