//! Video instructions, following the ISA's pseudocode ("Scalar Video Instructions", "SIMD Video
//! Instructions").
//!
//! The pseudocode uses 34 bits; here intermediate values are exact, so that clamping and
//! comparisons apply to the exact result.

use super::compare::holds;
use crate::program::{
    ScalarVideo, SimdVideo, Video, VideoMad, VideoOperation, VideoPart, VideoSecond,
};

/// The result of a video instruction, given the bits of its operands.
#[must_use]
pub(crate) fn video(form: &Video, a: u32, b: u32, c: u32) -> u32 {
    match form {
        Video::Scalar(scalar) => scalar_video(scalar, a, b, c),
        Video::Mad(mad) => multiply_add(mad, a, b, c),
        Video::Simd(simd) => simd_video(simd, a, b, c),
        Video::Pack { bits, signed } => pack(*bits, *signed, a, b, c),
    }
}

/// The number in the low `bits` bits of a word.
fn number(bits: u32, signed: bool, word: u64) -> i128 {
    let unused = 64 - bits;
    let high = word << unused;
    if signed { i128::from(high as i64 >> unused) } else { i128::from(high >> unused) }
}

fn part(part: VideoPart, signed: bool, word: u32) -> i128 {
    number(part.bits, signed, u64::from(word) >> (part.bits * part.index))
}

/// Clamps to the range of a `bits`-bit number.
fn clamp_to_bits(value: i128, bits: u32, signed: bool) -> i128 {
    if signed {
        value.clamp(-(1 << (bits - 1)), (1 << (bits - 1)) - 1)
    } else {
        value.clamp(0, (1 << bits) - 1)
    }
}

fn apply(operation: VideoOperation, a: i128, b: i128) -> i128 {
    let amount = |wrap: bool| if wrap { b & 31 } else { b.min(32) };
    match operation {
        VideoOperation::Add => a + b,
        VideoOperation::Subtract => a - b,
        VideoOperation::AbsoluteDifference => (a - b).abs(),
        VideoOperation::Min => a.min(b),
        VideoOperation::Max => a.max(b),
        VideoOperation::Average => (a + b + i128::from(a + b >= 0)) >> 1,
        VideoOperation::ShiftLeft { wrap } => a << amount(wrap),
        VideoOperation::ShiftRight { wrap } => a >> amount(wrap),
        VideoOperation::Compare(comparison) => i128::from(holds(comparison, Some(a.cmp(&b)))),
    }
}

fn scalar_video(form: &ScalarVideo, a: u32, b: u32, c: u32) -> u32 {
    let [signed, a_signed, b_signed] = form.signed;
    let value = apply(form.operation, part(form.a, a_signed, a), part(form.b, b_signed, b));
    let bits = form.d.map_or(32, |d| d.bits);
    let value = if form.saturate { clamp_to_bits(value, bits, signed) } else { value };
    let third = number(32, signed, u64::from(c));
    let value = match form.second {
        VideoSecond::None => value,
        VideoSecond::Add => value + third,
        VideoSecond::Min => value.min(third),
        VideoSecond::Max => value.max(third),
    } as u32;
    match form.d {
        None => value,
        Some(d) => {
            let (at, mask) = (d.bits * d.index, ((1_u64 << d.bits) - 1) as u32);
            (value & mask) << at | c & !(mask << at)
        }
    }
}

fn multiply_add(form: &VideoMad, a: u32, b: u32, c: u32) -> u32 {
    let ([a_signed, b_signed], [product, third]) = (form.signed, form.negate);
    let signed = a_signed || b_signed || product || third;
    let value = part(form.a, a_signed, a) * part(form.b, b_signed, b);
    let value = if product { -value } else { value };
    let c = if third { !c } else { c };
    let sum = value + number(32, signed, u64::from(c));
    let sum = sum + i128::from(form.plus_one || third);
    let sum = sum >> form.shift;
    (if form.saturate { clamp_to_bits(sum, 32, signed) } else { sum }) as u32
}

fn simd_video(form: &SimdVideo, a: u32, b: u32, c: u32) -> u32 {
    let [signed, a_signed, b_signed] = form.signed;
    let both = u64::from(b) << 32 | u64::from(a);
    let element =
        |index: u8, signed| number(form.bits, signed, both >> (form.bits * u32::from(index)));
    let ones = (1_u32 << form.bits) - 1;
    let mut d = c;
    for at in 0..32 / form.bits {
        if form.mask >> at & 1 == 0 {
            continue;
        }
        let (x, y) = (form.a[at as usize], form.b[at as usize]);
        let value = apply(form.operation, element(x, a_signed), element(y, b_signed));
        let value = if form.saturate { clamp_to_bits(value, form.bits, signed) } else { value };
        d = if form.accumulate {
            d.wrapping_add(value as u32)
        } else {
            let shift = form.bits * at;
            (value as u32 & ones) << shift | d & !(ones << shift)
        };
    }
    d
}

/// `cvt.pack`: `b` is in the lowest bits of the result, `a` above it, both clamped to `bits` bits,
/// and the low bits of `c` above both.
fn pack(bits: u32, signed: bool, a: u32, b: u32, c: u32) -> u32 {
    let ones = (1_u32 << bits) - 1;
    let narrow =
        |word| clamp_to_bits(number(32, true, u64::from(word)), bits, signed) as u32 & ones;
    let both = u64::from(narrow(a)) << bits | u64::from(narrow(b));
    (u64::from(c) << (2 * bits) | both) as u32
}
