//! Inline PTX runs where the program runs it, and nowhere else: to the same bits as NVRTC's.

use crate::kernel::{Argument, as_words, floats, size, word, words};
use crate::reference::both;

const SOURCE: &str = include_str!("asm_in_branches.cu");
const WARP: ([u32; 3], [u32; 3], u32) = ([1, 1, 1], [32, 1, 1], 0);

fn ones(count: usize) -> Argument {
    floats(&vec![1.0; count])
}

fn zeros(count: usize) -> Argument {
    words(&vec![0; count])
}

/// The last argument but for numbers, after a warp has run.
fn ran(kernel: &str, arguments: &[Argument]) -> Vec<u32> {
    as_words(both(SOURCE, kernel, WARP, arguments).last().unwrap())
}

/// Memory ends where the condition does: a load that runs nevertheless is a fault.
#[test]
fn loads_stay_behind_their_conditions() {
    let one = 1.0f32.to_bits();
    let guarded = |count: usize| move |lane: usize| if lane < count { one } else { 0 };
    for kernel in ["guard_if", "guard_volatile", "guard_ternary", "early_return", "short_circuit"] {
        let found = ran(kernel, &[ones(20), zeros(32), word(20)]);
        assert_eq!(found, (0..32).map(guarded(20)).collect::<Vec<_>>(), "{kernel}");
    }
    for kernel in ["plain_load", "ldg_load", "vol"] {
        let found = ran(kernel, &[ones(20), zeros(32), word(20)]);
        assert_eq!(found, (0..32).map(guarded(20)).collect::<Vec<_>>(), "{kernel}");
    }
    let found = ran("in_switch", &[ones(20), zeros(32), word(20)]);
    assert_eq!((found[19], found[20]), (one, 3.0f32.to_bits()));
    for kernel in ["guard_null", "nullp"] {
        assert_eq!(ran(kernel, &[ones(32), size(0), zeros(32)]), [one; 32], "{kernel}");
    }
    let two = floats(&[2.0; 16]);
    let found = ran("two_sides", &[ones(16), two, zeros(32), word(16)]);
    assert_eq!((found[15], found[16]), (one, 2.0f32.to_bits()));
    assert_eq!(ran("sh", &[ones(16), zeros(32), word(0)])[15..17], [one, 0]);
    // Loops that don't run, run to the end of memory, or are written out.
    assert_eq!(ran("loop_zero", &[ones(8), zeros(32), word(0)]), [0; 32]);
    assert_eq!(ran("invariant", &[zeros(4), zeros(32), word(0)]), [0; 32]);
    let found = ran("loop_guard", &[ones(70), zeros(32), word(70)]);
    assert_eq!((found[16], found[17], found[18]), (4.0f32.to_bits(), 2.0f32.to_bits(), 0));
    let found = ran("break_loop", &[ones(50), zeros(32), word(50)]);
    assert_eq!((found[17], found[18]), (2.0f32.to_bits(), one));
    let found = ran("vector_load", &[ones(80), zeros(128), word(20)]);
    assert_eq!((found[79], found[80]), (one, 0));
    let found = ran("andor", &[words(&[7; 4]), zeros(32), word(4)]);
    assert_eq!((found[3], found[4], found[31]), (7, 0, 7));
}

/// What counts, writes or traps does it for the lanes that get there.
#[test]
fn effects_stay_behind_their_conditions() {
    for kernel in ["atomic_in_branch", "atom"] {
        let memory = both(SOURCE, kernel, WARP, &[zeros(1), zeros(32), word(4)]);
        assert_eq!(as_words(&memory[0]), [4], "{kernel}");
        assert_eq!(as_words(&memory[1])[3..5], [3, 0], "{kernel}");
    }
    let memory = both(SOURCE, "predicated", WARP, &[zeros(1), zeros(32)]);
    assert_eq!(as_words(&memory[0]), [3]);
    assert_eq!(ran("red_asm", &[zeros(1), word(4)]), [4]);
    let stored = ran("store_asm", &[zeros(20), word(20)]);
    assert_eq!(stored, [5.0f32.to_bits(); 20]);
    assert_eq!(ran("store_mem", &[zeros(20), word(20)]), [5.0f32.to_bits(); 20]);
    assert_eq!(ran("trap_asm", &[zeros(32), word(0)]), [0; 32]);
    for kernel in ["div_zero", "div0"] {
        assert_eq!(ran(kernel, &[zeros(32), zeros(32)]), [u32::MAX; 32], "{kernel}");
    }
    assert_eq!(ran("asm_twice", &[zeros(1), zeros(32)]), [21.0f32.to_bits(); 32]);
}

/// Lanes line up with those that take the same way.
#[test]
fn warps_agree_behind_their_conditions() {
    assert_eq!(ran("active", &[zeros(32)])[9..11], [0x3ff, 0]);
    assert_eq!(ran("merge2", &[zeros(32)])[9..11], [0x3fc, 2]);
    assert_eq!(ran("lane_counter", &[zeros(32)])[..2], [7, 0xaaaa_aaaa]);
    assert_eq!(ran("whileasm", &[zeros(32)])[..2], [0, 0xffff_fffe]);
    assert_eq!(ran("unrolled", &[zeros(32)])[1], 0xffff_fffe);
    for kernel in ["shuffle_in_branch", "shf"] {
        assert_eq!(ran(kernel, &[zeros(32)]), [0; 32], "{kernel}");
    }
}

/// A loop that lanes run unequally often isn't cut into fours and a rest, where they would part.
#[test]
fn loops_of_lanes_that_line_up_keep_together() {
    for asked in ["", "\n#pragma unroll 4\n"] {
        let source = format!(
            "extern \"C\" __global__ void k(unsigned *y) {{
                 unsigned t = threadIdx.x, s = 0;
                 {asked} for (unsigned j = 0; j < t % 7; j++) s = s * 3 + __activemask();
                 y[t] = s;
             }}"
        );
        let text = crate::kernel::compile(&source);
        let (memory, _) = crate::kernel::run(&text, "k", ([1; 3], [32, 1, 1]), &[zeros(32)]);
        let active = |j: u32| (0..32).filter(|t| t % 7 > j).fold(0u32, |mask, t| mask | 1 << t);
        let expected = (0..32u32)
            .map(|t| (0..t % 7).fold(0u32, |s, j| s.wrapping_mul(3).wrapping_add(active(j))));
        assert_eq!(as_words(&memory[0]), expected.collect::<Vec<_>>(), "{text}");
    }
}

/// What nothing reads may go; what is asked for twice isn't computed where the second doesn't stand.
#[test]
fn unused_inline_ptx_is_dropped() {
    let source = "extern \"C\" __global__ void k(unsigned *y) {
        unsigned a; asm(\"mov.u32 %0, %%laneid;\" : \"=r\"(a)); y[0] = 1;
    }";
    assert!(!crate::kernel::compile(source).contains("laneid"));
    let source = source.replace("asm(", "asm volatile(");
    assert!(crate::kernel::compile(&source).contains("laneid"));
}
