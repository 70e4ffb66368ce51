//! Register blocks: the one product that all passes are made of.
//!
//! `R` rows of the result, each of one panel's 32 columns, stay in registers while the sum goes over `k`. For each
//! `k`, the kernel loads the panel's row once and uses it `R` times. What happens to a finished sum (bias and
//! ReLU, ReLU's mask, the update of a weight) happens before it leaves the registers.

use pulp::Simd;

use super::packed::{Row, WIDTH};

/// A part of the sums of a product: `Σ_k left(r, k) · panel[k]`.
///
/// A kernel reads `left(r, k)` at `r · stride + k` if the left factor is stored row by row, and at
/// `k · stride + r` if it is stored column by column.
#[derive(Clone, Copy)]
pub(super) struct Segment<'a> {
    pub left: &'a [f32],
    pub stride: usize,
    pub panel: &'a [Row],
}

/// The operation on a finished sum, while it is in a register.
#[derive(Clone, Copy)]
pub(super) enum Finish<'a> {
    /// Stores the sum.
    Store,
    /// Stores the sum plus this bias.
    Bias(&'a Row),
    /// Stores the ReLU of the sum plus this bias.
    BiasRelu(&'a Row),
    /// Stores the sum where the mask's number is positive, and 0 elsewhere: the backward pass of ReLU.
    Mask(&'a [Row]),
    /// Subtracts the learning rate times the sum from the stored number.
    Subtract(f32),
}

/// `out[r] = finish(Σ_segments Σ_k left(r, k) · panel[k])`. `COLUMNS` is how the left factor is stored.
#[inline(always)]
pub(super) fn product<S: Simd, const COLUMNS: bool>(
    simd: S,
    segments: &[Segment<'_>],
    finish: Finish<'_>,
    out: &mut [Row],
) {
    // Accumulators, a row of the panel, and one number of the left factor have to fit into the registers: 32 of
    // 16 numbers, 16 of 8 numbers, or 32 of 4 numbers.
    if S::F32_LANES == 16 {
        blocks::<S, COLUMNS, 8, 2>(simd, segments, finish, out);
    } else if S::F32_LANES == 8 {
        blocks::<S, COLUMNS, 4, 2>(simd, segments, finish, out);
    } else {
        blocks::<S, COLUMNS, 4, 4>(simd, segments, finish, out);
    }
}

/// The same, in blocks of `R` rows and `V` vectors.
#[inline(always)]
fn blocks<S: Simd, const COLUMNS: bool, const R: usize, const V: usize>(
    simd: S,
    segments: &[Segment<'_>],
    finish: Finish<'_>,
    out: &mut [Row],
) {
    for first in (0..out.len()).step_by(R) {
        for part in 0..WIDTH / (V * S::F32_LANES) {
            let mut sums = [[simd.splat_f32s(0.0); V]; R];
            for segment in segments {
                if COLUMNS {
                    add_columns(simd, segment, first, part, &mut sums);
                } else {
                    add_rows(simd, segment, first, out.len() - 1, part, &mut sums);
                }
            }
            store(simd, &sums, finish, first, part, out);
        }
    }
}

// ANCHOR: rows
/// Adds a segment whose left factor is stored row by row. Rows after the last one repeat it.
#[inline(always)]
fn add_rows<S: Simd, const R: usize, const V: usize>(
    simd: S,
    segment: &Segment<'_>,
    first: usize,
    last: usize,
    part: usize,
    sums: &mut [[S::f32s; V]; R],
) {
    let Segment { left, stride, panel } = *segment;
    // As long as the panel, so that one check serves all rows.
    let mut rows = [&left[..0]; R];
    for r in 0..R {
        rows[r] = &left[(first + r).min(last) * stride..][..panel.len()];
    }
    for k in 0..panel.len() {
        let w = load::<S, V>(&panel[k], part);
        for r in 0..R {
            let a = simd.splat_f32s(rows[r][k]);
            for v in 0..V {
                sums[r][v] = simd.mul_add_e_f32s(a, w[v], sums[r][v]);
            }
        }
    }
}
// ANCHOR_END: rows

/// Adds a segment whose left factor is stored column by column. The sums of rows after the last one are never
/// stored, so it doesn't matter which numbers they get.
#[inline(always)]
fn add_columns<S: Simd, const R: usize, const V: usize>(
    simd: S,
    segment: &Segment<'_>,
    first: usize,
    part: usize,
    sums: &mut [[S::f32s; V]; R],
) {
    let Segment { left, stride, panel } = *segment;
    for (k, row) in panel.iter().enumerate() {
        let column = &left[k * stride + first..];
        let mut padded = [0.0; R];
        let column = column.first_chunk::<R>().unwrap_or_else(|| {
            padded[..column.len()].copy_from_slice(column);
            &padded
        });
        let w = load::<S, V>(row, part);
        for r in 0..R {
            let a = simd.splat_f32s(column[r]);
            for v in 0..V {
                sums[r][v] = simd.mul_add_e_f32s(a, w[v], sums[r][v]);
            }
        }
    }
}

#[inline(always)]
fn store<S: Simd, const R: usize, const V: usize>(
    simd: S,
    sums: &[[S::f32s; V]; R],
    finish: Finish<'_>,
    first: usize,
    part: usize,
    out: &mut [Row],
) {
    let zero = simd.splat_f32s(0.0);
    for r in 0..R {
        let Some(out) = out.get_mut(first + r) else { return };
        let out = &mut S::as_mut_simd_f32s(out).0[part * V..][..V];
        for v in 0..V {
            let sum = sums[r][v];
            out[v] = match finish {
                Finish::Store => sum,
                Finish::Bias(bias) => simd.add_f32s(sum, load::<S, V>(bias, part)[v]),
                Finish::BiasRelu(bias) => {
                    relu(simd, simd.add_f32s(sum, load::<S, V>(bias, part)[v]))
                }
                Finish::Mask(a) => {
                    let positive = simd.less_than_f32s(zero, load::<S, V>(&a[first + r], part)[v]);
                    simd.select_f32s(positive, sum, zero)
                }
                Finish::Subtract(rate) => simd.mul_add_e_f32s(simd.splat_f32s(-rate), sum, out[v]),
            };
        }
    }
}

/// `max(z, 0)`; NaN stays NaN.
#[inline(always)]
fn relu<S: Simd>(simd: S, z: S::f32s) -> S::f32s {
    let zero = simd.splat_f32s(0.0);
    simd.select_f32s(simd.less_than_f32s(z, zero), zero, z)
}

/// `V` vectors of a row.
#[inline(always)]
fn load<S: Simd, const V: usize>(row: &Row, part: usize) -> [S::f32s; V] {
    let vectors = &S::as_simd_f32s(row).0[part * V..][..V];
    let mut loaded = [vectors[0]; V];
    loaded.copy_from_slice(vectors);
    loaded
}

/// `out = Σ parts + bias`, after ReLU in a hidden layer.
#[inline(always)]
pub(super) fn add_parts<'a>(
    parts: impl Iterator<Item = &'a Row>,
    bias: &Row,
    hidden: bool,
    out: &mut Row,
) {
    let mut sum = [0.0; WIDTH];
    for part in parts {
        for i in 0..WIDTH {
            sum[i] += part[i];
        }
    }
    for i in 0..WIDTH {
        let z = sum[i] + bias[i];
        out[i] = if hidden && z < 0.0 { 0.0 } else { z };
    }
}
