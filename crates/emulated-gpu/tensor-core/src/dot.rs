//! The reference model of one dot product, for any input.

use crate::format::Format;
use crate::parts::{Decoded, aligned_c, product_shift, round_result, scale};
use crate::rules::{Rules, Sum};

/// `c + Σ aᵢ·bᵢ` as a tensor core computes it. The factors must be representable in their formats,
/// `c` in the format of the sum.
#[must_use]
pub fn dot(
    rules: &Rules,
    (a_format, b_format): (Format, Format),
    sum: Sum,
    factors: &[(f32, f32)],
    c: f32,
) -> f32 {
    let products = factors.chunks(rules.group.max(1));
    products.fold(c, |c, group| group_sum(rules, (a_format, b_format), sum, group, c))
}

fn group_sum(
    rules: &Rules,
    (a_format, b_format): (Format, Format),
    sum: Sum,
    factors: &[(f32, f32)],
    c: f32,
) -> f32 {
    let finite = |&(a, b): &(f32, f32)| a.is_finite() && b.is_finite();
    if !c.is_finite() || !factors.iter().all(finite) {
        return nonfinite_result(factors, c);
    }
    let shift = product_shift(rules, a_format, b_format);
    let products = factors.iter().map(|&(a, b)| {
        let (a, b) = (Decoded::new(a, a_format), Decoded::new(b, b_format));
        Decoded {
            exponent: a.exponent + b.exponent,
            magnitude: (a.magnitude * b.magnitude) << shift,
            sign: a.sign ^ b.sign,
        }
    });
    let early = Decoded::new(if rules.adds_c_last { 0.0 } else { c }, Format::F32);
    let top = products.clone().map(|product| product.exponent).fold(early.exponent, i32::max);
    let top = top.max(rules.min_exponent);
    let mut total = i64::from(aligned_c(rules, top, early));
    for Decoded { exponent, magnitude, sign } in products {
        total += i64::from(Decoded::aligned(top, exponent, magnitude, sign));
    }
    let value = scale(rules, top, total as f64);
    if !rules.adds_c_last {
        return round_result(rules, sum, value);
    }
    match sum {
        Sum::Single => round_result(rules, sum, value) + c,
        Sum::Half => round_result(rules, sum, value + f64::from(c)),
    }
}

/// The result of a sum in which a factor or `c` is infinite or NaN.
#[cold]
fn nonfinite_result(factors: &[(f32, f32)], c: f32) -> f32 {
    // Finite products can't affect such a result, so they count as 0.
    let product = |(a, b): (f32, f32)| {
        if a.is_finite() && b.is_finite() { 0.0 } else { a * b }
    };
    let infinite = |value: f32| if value.is_finite() { 0.0 } else { value };
    let sum: f32 = factors.iter().map(|&pair| product(pair)).sum::<f32>() + infinite(c);
    if sum.is_nan() { f32::from_bits(0x7fff_ffff) } else { sum }
}
