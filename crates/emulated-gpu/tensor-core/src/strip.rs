//! Dot products of any length: a row of one matrix with sixteen columns of another.
//!
//! The fast path covers numbers for which every step of the model is exact in `f32`: the product of two 11-bit factors
//! and a multiplication by a power of two are exact, and truncation is a conversion to an integer. On this path, a
//! product takes six instructions, for as many columns as a register has lanes. Everything else (infinities, NaN,
//! exponents near the ends of the range) goes through [`multiply`](crate::multiply).

#![allow(unsafe_code, reason = "converts numbers known to fit an integer; AVX2 if the host has it")]

use crate::format::Format;
use crate::rules::{Rules, Sum};
use crate::tile::{COLUMNS, PRODUCTS_PER_I32, multiply};

/// The number of columns in a strip.
pub const WIDTH: usize = 16;
/// The length of the largest group. Sums are padded with zeros to a multiple of it. Zeros add nothing to a sum.
const GROUP_SIZE: usize = 16;
/// The exponents of products on the fast path. From the minimum on, the truncated numbers are
/// normal; up to the maximum, sums of `MAX_FAST_LENGTH` products are finite.
const MIN_EXPONENT: i32 = -100;
const MAX_EXPONENT: i32 = 60;
/// The maximum length of a sum on the fast path.
const MAX_FAST_LENGTH: usize = 1 << 20;

/// The range of the exponents of nonzero factors, in a row of the left matrix or a strip of the right one.
#[derive(Clone, Copy, Debug)]
struct Range {
    least: i32,
    greatest: i32,
    finite: bool,
}

impl Range {
    /// The range of a row or strip of zeros, which is compatible with every other range.
    const EMPTY: Self = Self { least: 400, greatest: -400, finite: true };

    /// Extends the range to a factor. `power` is the power of two with the exponent of `value`.
    fn extended_to(self, value: f32, power: f32) -> Self {
        if value == 0.0 {
            return self;
        }
        let exponent = (power.to_bits() >> 23) as i32 - 127;
        Self {
            least: self.least.min(exponent),
            greatest: self.greatest.max(exponent),
            finite: self.finite && value.is_finite(),
        }
    }

    /// Whether all products of two ranges are in the range of the fast path.
    fn allows_fast_path(self, other: Self) -> bool {
        self.finite
            && other.finite
            && self.least + other.least >= MIN_EXPONENT
            && self.greatest + other.greatest <= MAX_EXPONENT
    }
}

/// The power of two with the exponent that the tensor core sees in a factor; 0 for a zero.
fn power_of_two(value: f32, format: Format) -> f32 {
    let least = f32::from_bits(((format.least_normal_exponent() + 127) as u32) << 23);
    if value == 0.0 { 0.0 } else { f32::from_bits(value.to_bits() & 0x7f80_0000).max(least) }
}

/// Rounds the length of a sum up to whole groups.
const fn padded(length: usize) -> usize {
    length.next_multiple_of(GROUP_SIZE)
}

/// A row of the left matrix, prepared for multiplication.
#[derive(Debug)]
pub struct Line<'a> {
    format: Format,
    values: &'a [f32],
    powers: &'a [f32],
    range: Range,
}

impl<'a> Line<'a> {
    /// How many elements a line needs for the factors of a sum of `length` products.
    #[must_use]
    pub const fn elements(length: usize) -> usize {
        padded(length).saturating_mul(2)
    }

    /// Stores factors in `memory`; `factor` returns them, and they must be representable in the format. Returns `None`
    /// unless `memory` has [`elements`](Self::elements) elements.
    pub fn new(
        format: Format,
        length: usize,
        memory: &'a mut [f32],
        factor: impl Fn(usize) -> f32,
    ) -> Option<Self> {
        if memory.len() != Self::elements(length) {
            return None;
        }
        let (values, powers) = memory.split_at_mut(padded(length));
        let mut range = Range::EMPTY;
        for (k, (value, place)) in values.iter_mut().zip(powers.iter_mut()).enumerate() {
            *value = if k < length { factor(k) } else { 0.0 };
            *place = power_of_two(*value, format);
            range = range.extended_to(*value, *place);
        }
        Some(Self { format, values, powers, range })
    }
}

/// Sixteen columns of the right matrix, prepared for multiplication.
#[derive(Debug)]
pub struct Strip<'a> {
    format: Format,
    values: &'a [[f32; WIDTH]],
    powers: &'a [[f32; WIDTH]],
    range: Range,
}

impl<'a> Strip<'a> {
    /// How many rows of sixteen elements a strip needs for the factors of sums of `length`
    /// products.
    #[must_use]
    pub const fn rows(length: usize) -> usize {
        padded(length).saturating_mul(2)
    }

    /// Stores factors in `memory`; `factor` returns them for an index in the sum and a column. They must be
    /// representable in the format. Columns from `columns` on are zeros. Returns `None` unless `memory` has
    /// [`rows`](Self::rows) rows.
    pub fn new(
        format: Format,
        (length, columns): (usize, usize),
        memory: &'a mut [[f32; WIDTH]],
        factor: impl Fn(usize, usize) -> f32,
    ) -> Option<Self> {
        if memory.len() != Self::rows(length) {
            return None;
        }
        let (values, powers) = memory.split_at_mut(padded(length));
        let mut range = Range::EMPTY;
        for (k, (values, powers)) in values.iter_mut().zip(powers.iter_mut()).enumerate() {
            for (column, (value, place)) in values.iter_mut().zip(powers).enumerate() {
                *value = if k < length && column < columns { factor(k, column) } else { 0.0 };
                *place = power_of_two(*value, format);
                range = range.extended_to(*value, *place);
            }
        }
        Some(Self { format, values, powers, range })
    }

    /// The sums of the products of a row's factors with the factors of each column, starting from 0, as
    /// [`dot`](crate::dot) adds them. If the lengths differ, the shorter one is padded with zeros.
    #[must_use]
    pub fn sum(&self, rules: &Rules, sum: Sum, line: &Line<'_>) -> [f32; WIDTH] {
        let length = line.values.len().min(self.values.len());
        let plain = rules.result_bits == 23
            && !rules.adds_c_last
            && (23..=25).contains(&rules.fraction_bits);
        if sum == Sum::Half
            || !plain
            || length > MAX_FAST_LENGTH
            || !line.range.allows_fast_path(self.range)
        {
            return self.sum_slow(rules, sum, line);
        }
        match rules.group {
            4 => self.sum_fast::<4>(rules.fraction_bits, line),
            8 => self.sum_fast::<8>(rules.fraction_bits, line),
            16 => self.sum_fast::<16>(rules.fraction_bits, line),
            _ => self.sum_slow(rules, sum, line),
        }
    }

    /// The slow path, for any numbers and rules.
    fn sum_slow(&self, rules: &Rules, sum: Sum, line: &Line<'_>) -> [f32; WIDTH] {
        let mut sums = [0.0; WIDTH];
        let formats = (line.format, self.format);
        let (a, _) = line.values.as_chunks::<GROUP_SIZE>();
        let (b, _) = self.values.as_chunks::<GROUP_SIZE>();
        for (a, b) in a.iter().zip(b) {
            for (half, sums) in sums.as_chunks_mut::<COLUMNS>().0.iter_mut().enumerate() {
                let b = b.map(|row| std::array::from_fn(|n| row[half * COLUMNS + n]));
                tile(rules, formats, sum, a, &b, sums);
            }
        }
        sums
    }

    /// The fast path, for products inside the range of exponents.
    fn sum_fast<const GROUP: usize>(&self, fraction: u32, line: &Line<'_>) -> [f32; WIDTH] {
        #[cfg(target_arch = "x86_64")]
        if std::arch::is_x86_feature_detected!("avx2") {
            // SAFETY: the host was found to have AVX2.
            return unsafe { fast_sums_avx2::<GROUP>(fraction, line, self) };
        }
        fast_sums::<GROUP>(fraction, line, self)
    }
}

/// Adds the products of one row to eight sums.
fn tile(
    rules: &Rules,
    formats: (Format, Format),
    sum: Sum,
    a: &[f32; GROUP_SIZE],
    b: &[[f32; COLUMNS]; GROUP_SIZE],
    sums: &mut [f32; COLUMNS],
) {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: the host was found to have AVX2.
        unsafe { tile_avx2(rules, formats, sum, a, b, sums) };
        return;
    }
    multiply(rules, formats, sum, &[*a], b, std::slice::from_mut(sums));
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn tile_avx2(
    rules: &Rules,
    formats: (Format, Format),
    sum: Sum,
    a: &[f32; GROUP_SIZE],
    b: &[[f32; COLUMNS]; GROUP_SIZE],
    sums: &mut [f32; COLUMNS],
) {
    multiply(rules, formats, sum, &[*a], b, std::slice::from_mut(sums));
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn fast_sums_avx2<const GROUP: usize>(
    fraction: u32,
    line: &Line<'_>,
    strip: &Strip<'_>,
) -> [f32; WIDTH] {
    fast_sums::<GROUP>(fraction, line, strip)
}

#[inline(always)]
fn fast_sums<const GROUP: usize>(
    fraction: u32,
    line: &Line<'_>,
    strip: &Strip<'_>,
) -> [f32; WIDTH] {
    let least = f32::from_bits(((MIN_EXPONENT + 127) as u32) << 23);
    let mut sums = [0.0_f32; WIDTH];
    let rows = line.values.as_chunks::<GROUP>().0.iter().zip(line.powers.as_chunks::<GROUP>().0);
    let columns =
        strip.values.as_chunks::<GROUP>().0.iter().zip(strip.powers.as_chunks::<GROUP>().0);
    for ((a, a_powers), (b, b_powers)) in rows.zip(columns) {
        // For each column, the power of two with the largest exponent of the group.
        let mut top = [least; WIDTH];
        for n in 0..WIDTH {
            let power = f32::from_bits(sums[n].to_bits() & 0x7f80_0000);
            top[n] = if power > top[n] { power } else { top[n] };
        }
        for k in 0..GROUP {
            for n in 0..WIDTH {
                let power = a_powers[k] * b_powers[k][n];
                top[n] = if power > top[n] { power } else { top[n] };
            }
        }
        // 2^fraction / top, and its inverse; both are normal numbers.
        let mut up = [0.0_f32; WIDTH];
        let mut down = [0.0_f32; WIDTH];
        for n in 0..WIDTH {
            let bits = top[n].to_bits();
            up[n] = f32::from_bits(((254 + fraction) << 23).wrapping_sub(bits));
            down[n] = f32::from_bits(bits.wrapping_sub(fraction << 23));
        }
        // No product is greater than 2² times `top`, and no sum greater than twice that, so the
        // converted numbers are below 2^27.
        // SAFETY: the numbers fit into an `i32`, and `allows_fast_path` has checked that all of them
        // are finite.
        let cut = |x: f32| unsafe { x.to_int_unchecked::<i32>() };
        let mut total = [0_i32; WIDTH];
        for n in 0..WIDTH {
            total[n] = cut(sums[n] * up[n]);
        }
        let mut rest = [0_i32; WIDTH];
        for k in 0..GROUP {
            let into = if k < PRODUCTS_PER_I32 { &mut total } else { &mut rest };
            for n in 0..WIDTH {
                into[n] = into[n].wrapping_add(cut(a[k] * b[k][n] * up[n]));
            }
        }
        for n in 0..WIDTH {
            sums[n] = if GROUP <= PRODUCTS_PER_I32 {
                let nearest = total[n] as f32;
                // The conversion to `f32` rounds to nearest. If it rounded up, subtracting one unit gives the truncated
                // sum. SAFETY: a sum of eight products and one earlier sum is below 2^30 + 2^27.
                let beyond = unsafe { nearest.to_int_unchecked::<i32>() };
                let above = u32::from(beyond.wrapping_abs() > total[n].wrapping_abs());
                f32::from_bits(nearest.to_bits().wrapping_sub(above))
            } else {
                let sum = f64::from(total[n]) + f64::from(rest[n]);
                f64::from_bits(sum.to_bits() & !0x1fff_ffff) as f32
            } * down[n];
        }
    }
    sums
}
