//! Register blocks: the one product that all passes are made of.
//!
//! `R` rows of the result, each of one panel's 32 columns, stay in registers while the sum goes over `k`. For each
//! `k`, the kernel loads the panel's row once and uses it `R` times. What happens to a finished sum (bias and
//! ReLU, ReLU's mask, the update of a weight) happens before it leaves the registers.

use pulp::{Simd, WithSimd};

use super::packed::{Row, WIDTH};

/// Steps of `k` for one check of the bounds.
const STEPS: usize = 8;

/// A part of the sums of a product: `Σ_k left(r, k) · panel[k]`.
///
/// A kernel reads `left(r, k)` at `starts[r] + k` if the left factor is stored row by row, and at
/// `starts[k] + r` if it is stored column by column.
#[derive(Clone, Copy)]
pub(super) struct Segment<'a> {
    pub left: &'a [f32],
    pub starts: &'a [usize],
    pub panel: &'a [Row],
    /// Whether the left factor comes from main memory, so that a kernel that reads rows should fetch the next ones.
    pub far: bool,
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
///
/// It is compiled once for each kind of vectors, and chosen at run time.
pub(super) struct Product<'a, const COLUMNS: bool> {
    pub segments: &'a [Segment<'a>],
    pub finish: Finish<'a>,
    pub out: &'a mut [Row],
}

impl<const COLUMNS: bool> WithSimd for Product<'_, COLUMNS> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        // The sums, a row of the panel and one number of the left factor have to fit into 16 registers. The eight
        // sums of two vectors are as many as hide the latency of a multiplication.
        if S::F32_LANES > 4 {
            self.blocks::<S, 4, 2>(simd);
        } else {
            self.blocks::<S, 4, 4>(simd);
        }
    }
}

impl<const COLUMNS: bool> Product<'_, COLUMNS> {
    /// The product in blocks of `R` rows and `V` vectors.
    #[inline(always)]
    fn blocks<S: Simd, const R: usize, const V: usize>(self, simd: S) {
        let Self { segments, finish, out } = self;
        for first in (0..out.len()).step_by(R) {
            if let Finish::Subtract(_) = finish {
                // The weights come from a cache further away than the factors.
                for row in out.iter().skip(first + R).take(R) {
                    prefetch(row, 0);
                    prefetch(row, WIDTH / 2);
                }
            }
            for part in 0..WIDTH / (V * S::F32_LANES) {
                let mut sums = [[simd.splat_f32s(0.0); V]; R];
                for segment in segments {
                    sums = if COLUMNS {
                        add_columns(simd, segment, first, part, sums)
                    } else {
                        add_rows(simd, segment, first, out.len() - 1, part, sums)
                    };
                }
                store(simd, sums, finish, first, part, out);
            }
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
    mut sums: [[S::f32s; V]; R],
) -> [[S::f32s; V]; R] {
    let Segment { left, starts, panel, far } = *segment;
    let (mut rows, mut next) = ([&left[..0]; R], [0; R]);
    for r in 0..R {
        rows[r] = &left[starts[(first + r).min(last)]..][..panel.len()];
        next[r] = starts[(first + R + r).min(last)];
    }
    for (k, row) in panel.iter().enumerate() {
        // A cache line has 16 numbers.
        if far && k.is_multiple_of(16) {
            for next in next {
                prefetch(left, next + k);
            }
        }
        sums = multiply_add(simd, |r| rows[r][k], row, part, sums);
    }
    sums
}

/// `sums[r] += left(r) · row`, for a part of the row.
#[inline(always)]
fn multiply_add<S: Simd, const R: usize, const V: usize>(
    simd: S,
    left: impl Fn(usize) -> f32,
    row: &Row,
    part: usize,
    mut sums: [[S::f32s; V]; R],
) -> [[S::f32s; V]; R] {
    let w = load::<S, V>(row, part);
    for (r, sums) in sums.iter_mut().enumerate() {
        let a = simd.splat_f32s(left(r));
        for v in 0..V {
            sums[v] = simd.mul_add_e_f32s(a, w[v], sums[v]);
        }
    }
    sums
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
    mut sums: [[S::f32s; V]; R],
) -> [[S::f32s; V]; R] {
    let Segment { left, starts, panel, .. } = *segment;
    let left = &left[first..];
    for (row, start) in panel.iter().zip(starts) {
        let column = &left[*start..];
        let mut padded = [0.0; R];
        let column = column.first_chunk::<R>().unwrap_or_else(|| {
            padded[..column.len()].copy_from_slice(column);
            &padded
        });
        sums = multiply_add(simd, |r| column[r], row, part, sums);
    }
    sums
}

/// The update of a chunk of the first layer's weights and its product with the next batch, in one pass: each weight
/// is loaded once and stored once. For batches of eight, whose `dz` fits into registers together with the next `z`.
pub(super) struct Pass<'a> {
    /// The rows of the previous batch, and of this one, from the chunk's first input on.
    pub previous: [&'a [f32]; SAMPLES],
    pub x: [&'a [f32]; SAMPLES],
    /// The previous batch's gradients.
    pub dz: &'a [Row; SAMPLES],
    pub learning_rate: f32,
    pub w: &'a mut [Row],
    /// The chunk's part of this batch's `z`.
    pub z: &'a mut [Row; SAMPLES],
}

/// The samples of a [`Pass`].
pub(super) const SAMPLES: usize = 8;

// ANCHOR: pass
impl WithSimd for Pass<'_> {
    /// Whether this was computed: only with 16 numbers in a vector are there enough registers.
    type Output = bool;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> bool {
        if S::F32_LANES != 16 || !self.w.len().is_multiple_of(STEPS) {
            return false;
        }
        let rate = simd.splat_f32s(-self.learning_rate);
        for part in 0..WIDTH / S::F32_LANES {
            let (mut dz, mut z) = ([rate; SAMPLES], [simd.splat_f32s(0.0); SAMPLES]);
            for (dz, row) in dz.iter_mut().zip(self.dz) {
                *dz = S::as_simd_f32s(row).0[part];
            }
            for (block, rows) in self.w.as_chunks_mut::<STEPS>().0.iter_mut().enumerate() {
                let previous = steps(&self.previous, block);
                let x = steps(&self.x, block);
                for k in 0..STEPS {
                    let w = &mut S::as_mut_simd_f32s(&mut rows[k]).0[part];
                    let mut dw = simd.mul_f32s(simd.splat_f32s(previous[0][k]), dz[0]);
                    for s in 1..SAMPLES {
                        dw = simd.mul_add_e_f32s(simd.splat_f32s(previous[s][k]), dz[s], dw);
                    }
                    *w = simd.mul_add_e_f32s(rate, dw, *w);
                    for s in 0..SAMPLES {
                        z[s] = simd.mul_add_e_f32s(simd.splat_f32s(x[s][k]), *w, z[s]);
                    }
                }
            }
            for (row, z) in self.z.iter_mut().zip(z) {
                S::as_mut_simd_f32s(row).0[part] = z;
            }
        }
        true
    }
}
// ANCHOR_END: pass

/// A copy of a block of each row, from which the kernel reads without checks of bounds.
#[inline(always)]
fn steps(rows: &[&[f32]; SAMPLES], block: usize) -> [[f32; STEPS]; SAMPLES] {
    let mut steps = [[0.0; STEPS]; SAMPLES];
    for s in 0..SAMPLES {
        steps[s] = *rows[s][block * STEPS..].first_chunk().expect("rows are as long as the chunk");
    }
    steps
}

/// Applies an operation to finished sums, and stores the results.
#[inline(always)]
fn store<S: Simd, const R: usize, const V: usize>(
    simd: S,
    sums: [[S::f32s; V]; R],
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
    for (loaded, vector) in loaded.iter_mut().zip(vectors) {
        *loaded = *vector;
    }
    loaded
}

/// Has the processor fetch the cache line of `numbers[at]`, without waiting for it.
#[inline(always)]
fn prefetch(numbers: &[f32], at: usize) {
    #[cfg(target_arch = "x86_64")]
    if let Some(number) = numbers.get(at) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        #[expect(unsafe_code, reason = "the intrinsic takes a pointer")]
        // SAFETY: the pointer is that of a number in the slice, and a prefetch has no effect but on the caches.
        unsafe {
            _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(number).cast());
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (numbers, at);
}

/// `out[s] = Σ_parts part[s] + bias`, after ReLU in a hidden layer.
pub(super) struct AddParts<'a> {
    pub parts: &'a [&'a [Row]],
    pub bias: &'a Row,
    pub hidden: bool,
    pub out: &'a mut [Row],
}

impl WithSimd for AddParts<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _simd: S) {
        for (s, out) in self.out.iter_mut().enumerate() {
            let mut sum = [0.0; WIDTH];
            for part in self.parts {
                let part = &part[s];
                for i in 0..WIDTH {
                    sum[i] += part[i];
                }
            }
            for i in 0..WIDTH {
                let z = sum[i] + self.bias[i];
                out[i] = if self.hidden && z < 0.0 { 0.0 } else { z };
            }
        }
    }
}
