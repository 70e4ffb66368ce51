//! `fma.rn.f32` in WebAssembly, for 32 lanes at once. Of relaxed SIMD there is an instruction that may be one, and
//! not every browser has it: where it was tried and is one, by that. Elsewhere in double precision, and once more,
//! with care, where that could round twice.

#![allow(unsafe_code, reason = "rows of registers are read and written as vectors")]

mod relaxed;

pub use relaxed::module;

use std::arch::wasm32::{
    f32x4_add, f32x4_demote_f64x2_zero, f32x4_ne, f64x2_add, f64x2_mul, f64x2_promote_low_f32x4,
    i8x16_swizzle, i32x4_eq, i32x4_min, i32x4_shl, i32x4_shuffle, i32x4_sub, u32x4, u32x4_lt,
    u32x4_min, u32x4_splat, v128, v128_and, v128_any_true, v128_bitselect, v128_load, v128_or,
    v128_store,
};
use std::sync::atomic::{AtomicBool, Ordering};

use super::code::{Compute, Operands};
use super::lane::{Lane, Stored};
use super::registers::{FIRST_ROW, LANES, Registers};
use crate::arithmetic::host;

/// Lanes of a vector.
const GROUP: usize = 4;
/// Lanes whose results are looked at together, before they are written.
const TOGETHER: usize = 4 * GROUP;
/// The digits of an `f64` that an `f32` has not are the low 29 of its low word. This is what the others
/// are shifted out by, and what is left half way between two `f32`: the least of all as a signed number.
const BEFORE: u32 = 3;
const HALF_WAY: u32 = 1 << 31;
/// Takes the two low lanes of a vector to where the high ones are, and leaves 0 behind.
static UP: [u8; 16] = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 1, 2, 3, 4, 5, 6, 7];

/// Whether [`by_instruction`] has been replaced and does what it should.
static REPLACED: AtomicBool = AtomicBool::new(false);

/// What computes it.
pub(super) fn compute() -> Compute {
    if REPLACED.load(Ordering::Relaxed) { by_instruction } else { rows }
}

/// What a page replaces in the module's table, by the function of [`relaxed::module`].
fn by_instruction(registers: &mut Registers, operands: &Operands, mask: u32) {
    rows(registers, operands, mask);
}

/// Where that is in the table.
#[must_use]
pub fn slot() -> usize {
    let compute: fn(&mut Registers, &Operands, u32) = by_instruction;
    compute as usize
}

/// Has kernels that are lowered from now on use what is in that place, if it rounds once, where two roundings
/// would give something else. Whether it does.
pub fn use_slot() -> bool {
    // What the compiler knows of that place is no longer so.
    let compute: fn(&mut Registers, &Operands, u32) = std::hint::black_box(by_instruction);
    let right = TRIED
        .iter()
        .all(|values| [u32::MAX, 0x8000_ff01].iter().all(|&mask| tried(compute, values, mask)));
    REPLACED.store(right, Ordering::Relaxed);
    right
}

/// Whether a function gives the sums that it should, and writes no others.
fn tried(compute: fn(&mut Registers, &Operands, u32), values: &[f32; 3], mask: u32) -> bool {
    let [a, b, c, d] = [0, 1, 2, 3].map(|row| FIRST_ROW + row);
    let Ok(mut registers) = Registers::new(d + 1, 0) else { return false };
    for (row, value) in [a, b, c].into_iter().zip(values) {
        *u32::row_mut(&mut registers, row) = [value.to_bits(); LANES];
    }
    compute(&mut registers, &Operands { d, a, b, c }, mask);
    let sum = host::fma_f32(values[0], values[1], values[2]).to_bits();
    let row = u32::row(&registers, d);
    (0..LANES).all(|lane| row[lane] == if mask >> lane & 1 != 0 { sum } else { 0 })
}

/// What is tried: products that need more digits than there are, with what leaves only those; what is half
/// way between two floats, but for a digit far below; results that are tiny, and none.
const TRIED: [[f32; 3]; 8] = [
    [1.0 + f32::EPSILON, 1.0 + f32::EPSILON, -1.0],
    [1.0 + f32::EPSILON, 1.0 - f32::EPSILON, -1.0],
    [0.1, 10.0, -1.0],
    [1.0 + f32::EPSILON, 0.5 * f32::EPSILON, 1.0],
    [f32::MIN_POSITIVE, 0.3, f32::MIN_POSITIVE],
    [f32::MIN_POSITIVE, 0.3, -0.3 * f32::MIN_POSITIVE],
    [f32::MAX, 2.0, -f32::MAX],
    [f32::INFINITY, 0.0, 1.0],
];

/// Computes on the lanes of a mask. A lane is written when its operands have been read: `d` may be any
/// of them.
fn rows(registers: &mut Registers, operands: &Operands, mask: u32) {
    // Where the compiler knew the shuffle, it would join it with the conversion before it, to one of
    // which no instruction does more than a lane.
    // SAFETY: sixteen bytes that are there for ever.
    let up = unsafe { (&raw const UP).cast::<v128>().read_volatile() };
    for first in (0..LANES).step_by(TOGETHER) {
        let row = |index| half(u32::row(registers, index), first);
        let abc = (row(operands.a), row(operands.b), row(operands.c));
        let mut checks =
            Checks { behind: u32x4_splat(0), size: u32x4_splat(u32::MAX), total: u32x4_splat(0) };
        let mut sum = |group| {
            let (a, b, c) = abc;
            checks.sum((four(a, group), four(b, group), four(c, group)), up)
        };
        // In variables: of loops over arrays of vectors the compiler makes loops over memory.
        let (mut r0, mut r1, mut r2, mut r3) = (sum(0), sum(1), sum(2), sum(3));
        if !checks.passed() {
            let sum = |group| {
                let (a, b, c) = abc;
                carefully(four(a, group), four(b, group), four(c, group))
            };
            (r0, r1, r2, r3) = (sum(0), sum(1), sum(2), sum(3));
        }
        let d = u32::row_mut(registers, operands.d);
        if mask != u32::MAX {
            let before = half(d, first);
            let part = |group, result| {
                let bits = u32x4(1, 2, 4, 8);
                let own = v128_and(u32x4_splat(mask >> (first + GROUP * group)), bits);
                v128_bitselect(result, four(before, group), i32x4_eq(own, bits))
            };
            (r0, r1, r2, r3) = (part(0, r0), part(1, r1), part(2, r2), part(3, r3));
        }
        let d: *mut v128 = d[first..first + TOGETHER].as_mut_ptr().cast();
        // SAFETY: sixteen words of the row.
        unsafe {
            v128_store(d, r0);
            v128_store(d.add(1), r1);
            v128_store(d.add(2), r2);
            v128_store(d.add(3), r3);
        }
    }
}

/// The lanes of a row that are looked at together.
type Half = [u32; TOGETHER];

/// Those from a lane on.
#[inline(always)]
fn half(row: &[u32; LANES], first: usize) -> &Half {
    let (low, high) = row.split_at(TOGETHER);
    let half = if first == 0 { low } else { high };
    half.first_chunk().unwrap_or(&[0; TOGETHER])
}

/// One of the four vectors of a half.
#[inline(always)]
fn four(half: &Half, group: usize) -> v128 {
    // SAFETY: four words of the half.
    unsafe { v128_load(half[GROUP * group..][..GROUP].as_ptr().cast()) }
}

/// What is known of results.
struct Checks {
    /// The least of the digits that were rounded off.
    behind: v128,
    /// The least of the sizes, where 0 is the greatest.
    size: v128,
    /// Their sum, which is no number where one is none.
    total: v128,
}

impl Checks {
    /// Four sums, rounded to `f64` and then to `f32`. That may not be what one rounding gives where the
    /// `f64` lies half way between two `f32`, since it matters what was rounded off before; where the
    /// result is so small, and not 0, that an `f32` has fewer digits; and where it is no number, which
    /// is as well left to who is careful. What becomes 0 is none of these: so small a sum of an `f32`
    /// and a product of two is exact as an `f64`.
    #[inline(always)]
    fn sum(&mut self, (a, b, c): (v128, v128, v128), up: v128) -> v128 {
        let sum = |a, b, c| {
            let product = f64x2_mul(f64x2_promote_low_f32x4(a), f64x2_promote_low_f32x4(b));
            f64x2_add(product, f64x2_promote_low_f32x4(c))
        };
        let upper = |x| i32x4_shuffle::<2, 3, 2, 3>(x, x);
        let (low, high) = (sum(a, b, c), sum(upper(a), upper(b), upper(c)));
        let digits = i32x4_shl(i32x4_shuffle::<0, 2, 4, 6>(low, high), BEFORE);
        self.behind = i32x4_min(self.behind, digits);
        let high = i8x16_swizzle(f32x4_demote_f64x2_zero(high), up);
        let result = v128_or(f32x4_demote_f64x2_zero(low), high);
        // Without the sign.
        let size = i32x4_sub(i32x4_shl(result, 1), u32x4_splat(1));
        self.size = u32x4_min(self.size, size);
        self.total = f32x4_add(self.total, result);
        result
    }

    #[inline(always)]
    fn passed(&self) -> bool {
        let half_way = i32x4_eq(self.behind, u32x4_splat(HALF_WAY));
        let tiny = u32x4_lt(self.size, u32x4_splat(2 * f32::MIN_POSITIVE.to_bits()));
        let none = f32x4_ne(self.total, self.total);
        !v128_any_true(v128_or(half_way, v128_or(tiny, none)))
    }
}

/// The same, each with one rounding.
#[cold]
#[inline(never)]
fn carefully(a: v128, b: v128, c: v128) -> v128 {
    // SAFETY: a vector is four words, and any bits are words.
    let words = |x: v128| unsafe { std::mem::transmute::<v128, [u32; GROUP]>(x) };
    let [a, b, c] = [words(a), words(b), words(c)];
    let sum = |lane: usize| {
        let [a, b, c] = [a[lane], b[lane], c[lane]].map(f32::from_bits);
        host::fma_f32(a, b, c).to_bits()
    };
    u32x4(sum(0), sum(1), sum(2), sum(3))
}
