//! The layout of `wmma` fragments with TF32. The ISA leaves it open; the expected layout is given by the
//! addresses that `ptxas` 12.9 computes for `sm_80`, and it determines the bank conflicts.

use emulated_gpu_test_support::ptx::{launch, read, words};
use ptx_emulator::{Emulator, RunOptions};

/// The offset of a lane's register `index` from the beginning of the matrix in words, if its rows (or columns)
/// are `stride` words apart.
type ElementOffset = fn(group: usize, member: usize, index: usize, stride: usize) -> usize;

struct Case {
    /// The name of the `wmma.load`.
    name: &'static str,
    stride: usize,
    registers: usize,
    offset: ElementOffset,
    /// The shared-memory accesses of a warp, and their passes through the banks.
    counted: (u64, u64),
}

/// Loads a matrix of words that count from 0, and stores the values of each lane.
fn run(case: &Case) -> (Vec<u32>, (u64, u64)) {
    let names: Vec<String> = (0..case.registers).map(|index| format!("%f{index}")).collect();
    let stores: String = names
        .iter()
        .enumerate()
        .map(|(index, name)| format!("st.global.b32 [%p0+{}], {name};\n", index * 128))
        .collect();
    let text = format!(
        ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 to)\n{{\n\
         .reg .b32 %r<5>; .reg .b64 %p<3>; .reg .pred %q; .reg .{ty} %f<8>;\n\
         .shared .align 32 .b8 box[8192];\n\
         mov.u32 %r0, %tid.x; mov.u32 %r1, %r0; mov.u32 %r3, box; mad.lo.u32 %r3, %r0, 4, %r3;\n\
         more: st.shared.b32 [%r3], %r1;\nadd.u32 %r1, %r1, 32; add.u32 %r3, %r3, 128;\n\
         setp.lt.u32 %q, %r1, 2048;\n@%q bra more;\nbar.warp.sync -1;\n\
         ld.param.u64 %p0, [to]; mad.wide.u32 %p0, %r0, 4, %p0; mov.u32 %r3, box; mov.u32 %r2, {};\n\
         {} {{{}}}, [%r3], %r2;\n{stores}ret;\n}}\n",
        case.stride,
        case.name,
        names.join(","),
        ty = if case.name.ends_with("tf32") { "b32" } else { "f32" },
    );
    let emulator =
        Emulator::new(RunOptions { threads: 1, statistics: true, ..RunOptions::default() });
    let to = words(&emulator, &[0; 256]);
    let statistics = launch(&emulator, &text, ([1; 3], [32, 1, 1]), &[to]).unwrap();
    let line = text.lines().position(|line| line.starts_with("wmma")).unwrap() + 1;
    let line = statistics.lines.iter().find(|one| one.line == line).unwrap();
    let found = read(&emulator, to, case.registers * 32);
    (found, (line.shared_requests, line.shared_passes))
}

#[test]
fn tf32_fragments_have_the_layout_of_ptxas() {
    let a: ElementOffset = |g, t, i, stride| (g + i % 2 * 8) * stride + t + i / 2 * 4;
    let b: ElementOffset = |g, t, i, stride| (g + i / 2 * 8) * stride + t + i % 2 * 4;
    let c: ElementOffset =
        |g, t, i, stride| (g + i / 2 % 2 * 8) * stride + 2 * t + i % 2 + i / 4 * 8;
    let across_a: ElementOffset = |g, t, i, stride| (t + i / 2 * 4) * stride + g + i % 2 * 8;
    let across_b: ElementOffset = |g, t, i, stride| (t + i % 2 * 4) * stride + g + i / 2 * 8;
    let case = |name, stride, registers, offset, counted| Case {
        name,
        stride,
        registers,
        offset,
        counted,
    };
    for case in [
        case("wmma.load.a.sync.aligned.row.m16n16k8.shared.tf32", 36, 4, a, (4, 4)),
        case("wmma.load.a.sync.aligned.row.m16n16k8.shared.tf32", 32, 4, a, (4, 32)),
        case("wmma.load.a.sync.aligned.col.m16n16k8.shared.tf32", 72, 4, across_a, (4, 4)),
        case("wmma.load.b.sync.aligned.col.m16n16k8.shared.tf32", 36, 4, b, (4, 4)),
        case("wmma.load.b.sync.aligned.row.m16n16k8.shared.tf32", 72, 4, across_b, (4, 4)),
        case("wmma.load.b.sync.aligned.row.m16n16k8.shared.tf32", 64, 4, across_b, (4, 16)),
        // Two numbers at once, one half of the warp after the other.
        case("wmma.load.c.sync.aligned.row.m16n16k8.shared.f32", 72, 8, c, (4, 8)),
    ] {
        let (words, counted) = run(&case);
        for (at, word) in words.into_iter().enumerate() {
            let (index, lane) = (at / 32, at % 32);
            let expected = (case.offset)(lane / 4, lane % 4, index, case.stride);
            assert_eq!(word as usize, expected, "{}, lane {lane}, register {index}", case.name);
        }
        assert_eq!(counted, case.counted, "{}, {} apart", case.name, case.stride);
    }
}
