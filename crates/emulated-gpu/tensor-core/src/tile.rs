//! Tiles of dot products, eight columns at a time.

use crate::dot::dot;
use crate::format::Format;
use crate::parts::{Decoded, aligned_c, product_shift, round_result, scale};
use crate::rules::{Rules, Sum};

/// The number of columns in a tile: the lanes of an AVX2 register.
pub const COLUMNS: usize = 8;

/// The number of products that can be added without overflowing 32 bits: each is below 2² and has
/// at most 25 fraction bits.
pub(super) const PRODUCTS_PER_I32: usize = 8;

/// Adds `Σ a[m][k]·b[k][n]` to `c[m][n]`, as [`dot`] does. It is inlined, so that callers can
/// compile it for the host's vector instructions.
#[inline(always)]
pub fn multiply<const K: usize>(
    rules: &Rules,
    formats: (Format, Format),
    sum: Sum,
    a: &[[f32; K]],
    b: &[[f32; COLUMNS]; K],
    c: &mut [[f32; COLUMNS]],
) {
    let shift = product_shift(rules, formats.0, formats.1);
    let mut exponents = [[0_i32; COLUMNS]; K];
    let mut magnitudes = [[0_u32; COLUMNS]; K];
    let mut signs = [[0; COLUMNS]; K];
    // Whether a column contains an infinity or a NaN.
    let mut nonfinite_columns = [false; COLUMNS];
    for k in 0..K {
        for n in 0..COLUMNS {
            let part = Decoded::new(b[k][n], formats.1);
            (exponents[k][n], magnitudes[k][n], signs[k][n]) =
                (part.exponent, part.magnitude, part.sign);
            nonfinite_columns[n] |= !b[k][n].is_finite();
        }
    }
    for (a, c) in a.iter().zip(c) {
        let (before, mut special) = (*c, nonfinite_columns);
        let mut row = [Decoded::default(); K];
        let mut finite = true;
        for k in 0..K {
            let part = Decoded::new(a[k], formats.0);
            row[k] = Decoded { magnitude: part.magnitude << shift, ..part };
            finite &= a[k].is_finite();
        }
        let mut from = 0;
        while from < K {
            let to = (from + rules.group).min(K);
            let mut early = [Decoded::default(); COLUMNS];
            let mut top = [0; COLUMNS];
            for n in 0..COLUMNS {
                special[n] |= !c[n].is_finite();
                early[n] = Decoded::new(if rules.adds_c_last { 0.0 } else { c[n] }, Format::F32);
                top[n] = early[n].exponent.max(rules.min_exponent);
            }
            for k in from..to {
                for n in 0..COLUMNS {
                    top[n] = top[n].max(row[k].exponent.wrapping_add(exponents[k][n]));
                }
            }
            let mut total = [0.0; COLUMNS];
            for n in 0..COLUMNS {
                total[n] = f64::from(aligned_c(rules, top[n], early[n]));
            }
            let mut first = from;
            while first < to {
                let last = (first + PRODUCTS_PER_I32).min(to);
                let mut part = [0_i32; COLUMNS];
                for k in first..last {
                    for n in 0..COLUMNS {
                        let product = Decoded::aligned(
                            top[n],
                            row[k].exponent.wrapping_add(exponents[k][n]),
                            row[k].magnitude.wrapping_mul(magnitudes[k][n]),
                            row[k].sign ^ signs[k][n],
                        );
                        part[n] = product.wrapping_add(part[n]);
                    }
                }
                for n in 0..COLUMNS {
                    total[n] += f64::from(part[n]);
                }
                first = last;
            }
            for n in 0..COLUMNS {
                let value = scale(rules, top[n], total[n]);
                c[n] = match (rules.adds_c_last, sum) {
                    (false, _) => round_result(rules, sum, value),
                    (true, Sum::Single) => round_result(rules, sum, value) + c[n],
                    (true, Sum::Half) => round_result(rules, sum, value + f64::from(c[n])),
                };
            }
            from = to;
        }
        if !finite || special.contains(&true) {
            for n in (0..COLUMNS).filter(|&n| !finite || special[n]) {
                let column: [(f32, f32); K] = std::array::from_fn(|k| (a[k], b[k][n]));
                c[n] = dot(rules, formats, sum, &column, before[n]);
            }
        }
    }
}
