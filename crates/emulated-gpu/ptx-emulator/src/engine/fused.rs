//! `fma.rn.f32` in WebAssembly, for 32 lanes at once. Relaxed SIMD has an instruction that may be a
//! fused multiply-add, but not all browsers support it: it is used if a test shows that it rounds
//! once. Otherwise the sum is computed in double precision, and recomputed exactly if that could
//! have rounded twice.

#![allow(unsafe_code, reason = "register rows are read and written as vectors")]

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

/// Lanes per vector.
const GROUP: usize = 4;
/// Lanes whose results are checked together before they are written.
const CHECKED_LANES: usize = 4 * GROUP;
/// The bits that an `f64` has and an `f32` doesn't are the low 29 bits of the low word. Shifting left by `UPPER_BITS`
/// drops the other bits. The remainder of a number halfway between two `f32` is then `HALF_WAY`, which is the smallest
/// signed number.
const UPPER_BITS: u32 = 3;
const HALF_WAY: u32 = 1 << 31;
/// Moves the two low lanes of a vector to the high lanes, and zeroes the low lanes.
static UP: [u8; 16] = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 1, 2, 3, 4, 5, 6, 7];

/// Whether [`by_instruction`] has been replaced by a function that passed the test.
static REPLACED: AtomicBool = AtomicBool::new(false);

/// The function that computes `fma.rn.f32`.
pub(super) fn compute() -> Compute {
    if REPLACED.load(Ordering::Relaxed) { by_instruction } else { rows }
}

/// A placeholder in the module's function table: if the browser supports relaxed SIMD, the page puts
/// the function of [`relaxed::module`] into this slot.
fn by_instruction(registers: &mut Registers, operands: &Operands, mask: u32) {
    rows(registers, operands, mask);
}

/// The index of [`by_instruction`] in the function table.
#[must_use]
pub fn slot() -> usize {
    let compute: fn(&mut Registers, &Operands, u32) = by_instruction;
    compute as usize
}

/// Tests whether the function in the slot of [`by_instruction`] rounds only once. If so, kernels
/// that are lowered from now on use that function. Returns whether it passed.
pub fn use_slot() -> bool {
    // Hides the function from the compiler, which would assume that the slot is unchanged.
    let compute: fn(&mut Registers, &Operands, u32) = std::hint::black_box(by_instruction);
    let right = TEST_CASES.iter().all(|values| {
        [u32::MAX, 0x8000_ff01].iter().all(|&mask| test_case_passes(compute, values, mask))
    });
    REPLACED.store(right, Ordering::Relaxed);
    right
}

/// Whether a function computes the expected results, and only writes the active lanes.
fn test_case_passes(
    compute: fn(&mut Registers, &Operands, u32),
    values: &[f32; 3],
    mask: u32,
) -> bool {
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

/// Test cases: products whose high bits cancel, so that only bits beyond a float's precision
/// remain; sums that miss a tie by a much lower bit; tiny results; an overflow; and an invalid
/// operation.
const TEST_CASES: [[f32; 3]; 8] = [
    [1.0 + f32::EPSILON, 1.0 + f32::EPSILON, -1.0],
    [1.0 + f32::EPSILON, 1.0 - f32::EPSILON, -1.0],
    [0.1, 10.0, -1.0],
    [1.0 + f32::EPSILON, 0.5 * f32::EPSILON, 1.0],
    [f32::MIN_POSITIVE, 0.3, f32::MIN_POSITIVE],
    [f32::MIN_POSITIVE, 0.3, -0.3 * f32::MIN_POSITIVE],
    [f32::MAX, 2.0, -f32::MAX],
    [f32::INFINITY, 0.0, 1.0],
];

/// Computes for the active lanes. Results are only written after all operands of a vector have been read, so `d` may be
/// one of the operands.
fn rows(registers: &mut Registers, operands: &Operands, mask: u32) {
    // The compiler must not know the constant: it would merge the shuffle with the preceding conversion into a
    // conversion that is computed lane by lane. SAFETY: `UP` is a static of sixteen bytes.
    let up = unsafe { (&raw const UP).cast::<v128>().read_volatile() };
    for first in (0..LANES).step_by(CHECKED_LANES) {
        let row = |index| half(u32::row(registers, index), first);
        let abc = (row(operands.a), row(operands.b), row(operands.c));
        let mut checks = Checks {
            remainder: u32x4_splat(0),
            size: u32x4_splat(u32::MAX),
            total: u32x4_splat(0),
        };
        let mut sum = |group| {
            let (a, b, c) = abc;
            checks.sum((four(a, group), four(b, group), four(c, group)), up)
        };
        // Separate variables: for arrays of vectors the compiler creates loops over memory.
        let (mut r0, mut r1, mut r2, mut r3) = (sum(0), sum(1), sum(2), sum(3));
        if !checks.passed() {
            let sum = |group| {
                let (a, b, c) = abc;
                sum_exactly(four(a, group), four(b, group), four(c, group))
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
        let d: *mut v128 = d[first..first + CHECKED_LANES].as_mut_ptr().cast();
        // SAFETY: sixteen words of the row.
        unsafe {
            v128_store(d, r0);
            v128_store(d.add(1), r1);
            v128_store(d.add(2), r2);
            v128_store(d.add(3), r3);
        }
    }
}

/// The lanes of a row that are checked together.
type Half = [u32; CHECKED_LANES];

/// The [`CHECKED_LANES`] lanes from `first` on.
#[inline(always)]
fn half(row: &[u32; LANES], first: usize) -> &Half {
    let (low, high) = row.split_at(CHECKED_LANES);
    let half = if first == 0 { low } else { high };
    half.first_chunk().unwrap_or(&[0; CHECKED_LANES])
}

/// One of the four vectors of a half.
#[inline(always)]
fn four(half: &Half, group: usize) -> v128 {
    // SAFETY: the slice has four words, which are a vector.
    unsafe { v128_load(half[GROUP * group..][..GROUP].as_ptr().cast()) }
}

/// Accumulated properties of results, to detect double rounding.
struct Checks {
    /// The smallest of the remainders that were rounded off.
    remainder: v128,
    /// The smallest of the magnitudes minus one (so that 0 counts as the largest).
    size: v128,
    /// The sum of the results, which is NaN if a result is NaN.
    total: v128,
}

impl Checks {
    /// Computes four sums, rounded to `f64` and then to `f32`. This may differ from a single rounding in three cases,
    /// for which the sums are recomputed: the `f64` is halfway between two `f32`, so the bits that were rounded off
    /// before would decide; the result is subnormal and not 0; it is NaN. A result of 0 is always right: a sum of an
    /// `f32` and a product of two that is so small is exact as an `f64`.
    #[inline(always)]
    fn sum(&mut self, (a, b, c): (v128, v128, v128), up: v128) -> v128 {
        let sum = |a, b, c| {
            let product = f64x2_mul(f64x2_promote_low_f32x4(a), f64x2_promote_low_f32x4(b));
            f64x2_add(product, f64x2_promote_low_f32x4(c))
        };
        let upper = |x| i32x4_shuffle::<2, 3, 2, 3>(x, x);
        let (low, high) = (sum(a, b, c), sum(upper(a), upper(b), upper(c)));
        let digits = i32x4_shl(i32x4_shuffle::<0, 2, 4, 6>(low, high), UPPER_BITS);
        self.remainder = i32x4_min(self.remainder, digits);
        let high = i8x16_swizzle(f32x4_demote_f64x2_zero(high), up);
        let result = v128_or(f32x4_demote_f64x2_zero(low), high);
        // The magnitude, without the sign, minus one.
        let size = i32x4_sub(i32x4_shl(result, 1), u32x4_splat(1));
        self.size = u32x4_min(self.size, size);
        self.total = f32x4_add(self.total, result);
        result
    }

    #[inline(always)]
    fn passed(&self) -> bool {
        let half_way = i32x4_eq(self.remainder, u32x4_splat(HALF_WAY));
        let tiny = u32x4_lt(self.size, u32x4_splat(2 * f32::MIN_POSITIVE.to_bits()));
        let none = f32x4_ne(self.total, self.total);
        !v128_any_true(v128_or(half_way, v128_or(tiny, none)))
    }
}

/// Computes the sums `a · b + c`, each with a single rounding.
#[cold]
#[inline(never)]
fn sum_exactly(a: v128, b: v128, c: v128) -> v128 {
    // SAFETY: a vector is four words, and any bit pattern is valid.
    let words = |x: v128| unsafe { std::mem::transmute::<v128, [u32; GROUP]>(x) };
    let [a, b, c] = [words(a), words(b), words(c)];
    let sum = |lane: usize| {
        let [a, b, c] = [a[lane], b[lane], c[lane]].map(f32::from_bits);
        host::fma_f32(a, b, c).to_bits()
    };
    u32x4(sum(0), sum(1), sum(2), sum(3))
}
