//! Inline PTX only runs where the program runs it, with the same results as NVRTC's.

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

/// The contents of the last buffer after a warp has run.
fn run_warp(kernel: &str, arguments: &[Argument]) -> Vec<u32> {
    as_words(both(SOURCE, kernel, WARP, arguments).last().unwrap())
}

/// A load that runs even though its condition is false is a fault, as the memory ends there.
#[test]
fn loads_stay_after_their_conditions() {
    let one = 1.0f32.to_bits();
    let guarded = |count: usize| move |lane: usize| if lane < count { one } else { 0 };
    for kernel in ["guard_if", "guard_volatile", "guard_ternary", "early_return", "short_circuit"] {
        let found = run_warp(kernel, &[ones(20), zeros(32), word(20)]);
        assert_eq!(found, (0..32).map(guarded(20)).collect::<Vec<_>>(), "{kernel}");
    }
    for kernel in ["plain_load", "ldg_load", "vol"] {
        let found = run_warp(kernel, &[ones(20), zeros(32), word(20)]);
        assert_eq!(found, (0..32).map(guarded(20)).collect::<Vec<_>>(), "{kernel}");
    }
    let found = run_warp("in_switch", &[ones(20), zeros(32), word(20)]);
    assert_eq!((found[19], found[20]), (one, 3.0f32.to_bits()));
    for kernel in ["guard_null", "nullp"] {
        assert_eq!(run_warp(kernel, &[ones(32), size(0), zeros(32)]), [one; 32], "{kernel}");
    }
    let two = floats(&[2.0; 16]);
    let found = run_warp("two_sides", &[ones(16), two, zeros(32), word(16)]);
    assert_eq!((found[15], found[16]), (one, 2.0f32.to_bits()));
    assert_eq!(run_warp("sh", &[ones(16), zeros(32), word(0)])[15..17], [one, 0]);
    // Loops that don't run, that run to the end of memory, or that are unrolled.
    assert_eq!(run_warp("loop_zero", &[ones(8), zeros(32), word(0)]), [0; 32]);
    assert_eq!(run_warp("invariant", &[zeros(4), zeros(32), word(0)]), [0; 32]);
    let found = run_warp("loop_guard", &[ones(70), zeros(32), word(70)]);
    assert_eq!((found[16], found[17], found[18]), (4.0f32.to_bits(), 2.0f32.to_bits(), 0));
    let found = run_warp("break_loop", &[ones(50), zeros(32), word(50)]);
    assert_eq!((found[17], found[18]), (2.0f32.to_bits(), one));
    let found = run_warp("vector_load", &[ones(80), zeros(128), word(20)]);
    assert_eq!((found[79], found[80]), (one, 0));
    let found = run_warp("andor", &[words(&[7; 4]), zeros(32), word(4)]);
    assert_eq!((found[3], found[4], found[31]), (7, 0, 7));
}

/// Only the lanes that reach an instruction count, write or trap.
#[test]
fn effects_stay_after_their_conditions() {
    for kernel in ["atomic_in_branch", "atom"] {
        let memory = both(SOURCE, kernel, WARP, &[zeros(1), zeros(32), word(4)]);
        assert_eq!(as_words(&memory[0]), [4], "{kernel}");
        assert_eq!(as_words(&memory[1])[3..5], [3, 0], "{kernel}");
    }
    let memory = both(SOURCE, "predicated", WARP, &[zeros(1), zeros(32)]);
    assert_eq!(as_words(&memory[0]), [3]);
    assert_eq!(run_warp("red_asm", &[zeros(1), word(4)]), [4]);
    let stored = run_warp("store_asm", &[zeros(20), word(20)]);
    assert_eq!(stored, [5.0f32.to_bits(); 20]);
    assert_eq!(run_warp("store_mem", &[zeros(20), word(20)]), [5.0f32.to_bits(); 20]);
    assert_eq!(run_warp("trap_asm", &[zeros(32), word(0)]), [0; 32]);
    for kernel in ["div_zero", "div0"] {
        assert_eq!(run_warp(kernel, &[zeros(32), zeros(32)]), [u32::MAX; 32], "{kernel}");
    }
    assert_eq!(run_warp("asm_twice", &[zeros(1), zeros(32)]), [21.0f32.to_bits(); 32]);
}

/// Lanes synchronise with the lanes that take the same path.
#[test]
fn warps_synchronise_after_their_conditions() {
    assert_eq!(run_warp("active", &[zeros(32)])[9..11], [0x3ff, 0]);
    assert_eq!(run_warp("merge2", &[zeros(32)])[9..11], [0x3fc, 2]);
    assert_eq!(run_warp("lane_counter", &[zeros(32)])[..2], [7, 0xaaaa_aaaa]);
    assert_eq!(run_warp("whileasm", &[zeros(32)])[..2], [0, 0xffff_fffe]);
    assert_eq!(run_warp("unrolled", &[zeros(32)])[1], 0xffff_fffe);
    for kernel in ["shuffle_in_branch", "shf"] {
        assert_eq!(run_warp(kernel, &[zeros(32)]), [0; 32], "{kernel}");
    }
}

/// A loop that the lanes of a warp run different numbers of times isn't partially unrolled, because
/// the lanes would diverge.
#[test]
fn loops_with_warp_instructions_are_not_unrolled() {
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

/// Unused instructions may be removed. Equal instructions aren't merged if only one may run.
#[test]
fn unused_inline_ptx_is_dropped() {
    let source = "extern \"C\" __global__ void k(unsigned *y) {
        unsigned a; asm(\"mov.u32 %0, %%laneid;\" : \"=r\"(a)); y[0] = 1;
    }";
    assert!(!crate::kernel::compile(source).contains("laneid"));
    let source = source.replace("asm(", "asm volatile(");
    assert!(crate::kernel::compile(&source).contains("laneid"));
}
