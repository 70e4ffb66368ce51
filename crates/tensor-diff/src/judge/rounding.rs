//! How far one operation in floating point may stray from the exact one: the constants of the
//! error analysis, each with its source.
//!
//! The difference between two dumps is at most the sum of the distances of both from the exact values,
//! so every function here adds up both sides. A `float64` side adds next to nothing.
//!
//! - γₙ: N. Higham, *Accuracy and Stability of Numerical Algorithms*, 2nd edition, section 3.1 and
//!   lemma 3.1: n factors `1 + δ`, `|δ| ≤ u`, multiply to at most `1 + γₙ`, `γₙ = n·u / (1 − n·u)`.
//!   It holds for every order of summation and with or without fused multiply-add.
//! - Sums of products on tensor cores, of TF32 and of bfloat16, which cut off where others round. The units add `g`
//!   products and the sum so far at once (F. A. Khattak and M. Mikaitis, "Accurate Models of NVIDIA Tensor Cores",
//!   arXiv 2512.07004; before them M. Fasi, N. Higham, M. Mikaitis and S. Pranesh, "Numerical behavior of NVIDIA tensor
//!   cores", PeerJ Computer Science 7:e330, 2021). Let `S` be the sum of the magnitudes of those `g + 1` terms, and `e`
//!   the largest of their exponents, so that `2^e ≤ S`. The digits of a term below `2^(e−f)` are cut off, but the one
//!   with the exponent `e` has no digits there: `g` terms lose less than `2^(e−f) ≤ 2^−f·S` each. The sum is cut off to
//!   24 digits, and loses less than `2u` of itself, which isn't more than `S`. As whatever is cut off only shrinks, `S`
//!   is at most the sum of the magnitudes of all products so far. So n products, in `⌈n/g⌉` groups, err by at most
//!
//!   ```text (n·2^−f + ⌈n/g⌉·2u) · Σ|aᵢ||bᵢ| ```
//!
//!   With compute capability 8.x, `f` = 24 and `g` = 4 for TF32, that is `n + 2·⌈n/4⌉` times `u`; for bfloat16
//!   `g` = 8. With 9.0, `f` = 25 and groups twice as large, it is less; the bound is that of 8.x. It also holds for sums that several accumulators share:
//!   each has fewer products, and adding the parts up is a rounding for each. Zeros, which fill up an
//!   instruction, lose nothing. n roundings to nearest would be `n` times `u`, which isn't enough: a test
//!   of the bounds has the sum that shows it.
//! - Single precision from tensor cores, each factor as the sum of three TF32 numbers `h + m + l`, whose header says
//!   `f32`: it has to be within `γ` of ordinary sums, and is. A group of `t` terms, among them the sum so far where
//!   that isn't 0, loses less than `(t − 2)·2^−f·2^e` with the digits of its terms and those of the sum, and `2u·S`
//!   when the sum is cut off: with `f` = 24 that is `t·u·S`. The products `h·h` are added eight at a time, from 0 on:
//!   in two groups of four, the second with the sum of the first, they lose less than `9u·S`; with 9.0, whose groups
//!   have eight, `5u·S`. Ordinary additions put `⌈n/8⌉` such sums together. The five small products are at most
//!   `2^−10·(1 + 2^−9)` of the whole, and lose less than `50u` of that for each eight terms; what is left out is below
//!   `2^−32·(1 + 2^−9)` of it; one addition more joins the two sums. Together
//!
//!   ```text (9·(1 + 2^−9) + 1.05·⌈n/8⌉ + 2^−7)·u · Σ|aᵢ||bᵢ| ```
//!
//!   That is no more than the `n` of `n` roundings from n = 12 on; sums of fewer terms are allowed as many
//!   (`bounds`). For the gradients, what the factor `1/B` is allowed is enough: of n ≤ 8 terms no more
//!   than `n + 1` take the place of the 9, which with the joining is less than `n + 3`.
//! - `exp`, `log`, division: the *CUDA C++ Programming Guide*, appendix on mathematical functions.
//!   The bound taken is that of the fast intrinsics `__expf`, `__logf` and `__fdividef`, the widest
//!   there is: a level written in PTX uses `ex2.approx`, on which they are based. `expf` (2
//!   ulp), `logf` (1 ulp) and a host's `libm` (below 1 ulp) are within it.

use tensor::{Dtype, Header, TensorName};

/// One ulp, as a multiple of the unit roundoff: of a value `v` it is at most `2·u·|v|`.
const ULP: f64 = 2.0;
/// The error of a correctly rounded result, to which the Guide's errors are added.
const CORRECTLY_ROUNDED: f64 = 0.5;
/// `__expf(x)`: at most `2 + floor(|1.173·x|)` ulp.
const EXP_ULPS: f64 = 2.0;
const EXP_ULPS_PER_UNIT: f64 = 1.173;
/// `__logf(x)`: at most 3 ulp, and `2^-21.41` if `x` is within `[0.5, 2]`, expressed here in
/// unit roundoffs of `float32`.
const LOG_ULPS: f64 = 3.0;
const LOG_ABSOLUTE: f64 = 6.03;
/// `__fdividef(x, y)`: at most 2 ulp.
const DIVISION_ULPS: f64 = 2.0;

/// The rounding errors of one dump's arithmetic.
#[derive(Clone, Copy, Debug)]
struct Side {
    /// Unit roundoff: rounding to nearest errs by at most `unit·|value|`.
    unit: f64,
    /// The products of a group that tensor cores add and cut off at once; `None` where every addition
    /// of a matrix product rounds to nearest.
    group: Option<usize>,
    /// The relative error of a matrix product's inputs.
    product_input: f64,
    /// The largest error of an underflow. Subnormal numbers count: flushing them to 0 is a mistake. But where
    /// products are made of shorter numbers (three of TF32 for one of `float32`), a factor has no digits below the
    /// least of that format.
    tiny: f64,
}

impl Side {
    /// The arithmetic of a dump, whose values may also be rounded to this number of decimal digits. That affects both
    /// factors of a product, and its result.
    fn new(dtype: Dtype, digits: Option<u32>) -> Self {
        let unit = if dtype == Dtype::F64 { (-53_f64).exp2() } else { (-24_f64).exp2() };
        // 10 and 7 fraction bits, rounded to nearest; and half of the least number with these bits.
        let (group, product_input, tiny) = match dtype {
            Dtype::Tf32 => (Some(4), (-11_f64).exp2(), (-137_f64).exp2()),
            Dtype::Bf16 => (Some(8), (-8_f64).exp2(), (-134_f64).exp2()),
            Dtype::F32 => (None, 0.0, (-137_f64).exp2()),
            Dtype::F64 => (None, 0.0, f64::MIN_POSITIVE),
        };
        let decimal = |digits: u32| 3.0 * 0.5 * 10_f64.powi(1 - digits.min(400) as i32);
        Self { unit: unit + digits.map_or(0.0, decimal), group, product_input, tiny }
    }

    /// γₙ of a sum of products.
    fn product_sum(&self, n: usize) -> f64 {
        // The errors of cutting off the sum after each group, in single-precision unit roundoffs.
        let cut = self.group.map_or(0.0, |group| 2.0 * n.div_ceil(group) as f64);
        grown(n as f64 * self.unit + cut * (-24_f64).exp2())
    }
}

/// γ of all relative errors together; infinity if their sum is too large for a bound.
fn grown(errors: f64) -> f64 {
    if errors < 1.0 { errors / (1.0 - errors) } else { f64::INFINITY }
}

/// The rounding errors of two dumps together.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rounding {
    sides: [Side; 2],
}

impl Rounding {
    /// The rounding errors of two dumps; without a reference, those of a dump and of this program's recomputation in
    /// `float64` from the same inputs.
    pub(crate) fn new(reference: Option<&Header>, candidate: &Header) -> Self {
        let exact = Side::new(Dtype::F64, None);
        let side = |header: &Header| Side::new(header.dtype, header.digits);
        Self { sides: [reference.map_or(exact, side), side(candidate)] }
    }

    fn sum(&self, of: impl Fn(&Side) -> f64) -> f64 {
        self.sides.iter().map(of).sum()
    }

    /// γₙ: the relative error of n roundings in a row, or of each term of a sum of n terms.
    pub(crate) fn gamma(&self, n: usize) -> f64 {
        self.sum(|side| grown(n as f64 * side.unit))
    }

    /// The relative error of a term in a sum of products, if the term passes through `n` additions: γₙ, and more on
    /// tensor cores, which cut off digits instead of rounding.
    pub(crate) fn product_sum(&self, n: usize) -> f64 {
        self.sum(|side| side.product_sum(n))
    }

    /// The relative error of each term of a matrix product in which a term takes part in `n`
    /// roundings, its inputs' rounding to TF32 or bfloat16 included: `(1 + t)²·(1 + γₙ) − 1`.
    pub(crate) fn product(&self, n: usize) -> f64 {
        self.sum(|side| {
            let (gamma, t) = (side.product_sum(n), side.product_input);
            gamma + (2.0 * t + t * t) * (1.0 + gamma)
        })
    }

    /// The larger unit roundoff of the two sides.
    pub(crate) fn unit(&self) -> f64 {
        self.sides[0].unit.max(self.sides[1].unit)
    }

    /// The relative error that rounding to TF32 or bfloat16 may cause in a factor of a product.
    pub(crate) fn shortened(&self) -> f64 {
        self.sides[0].product_input.max(self.sides[1].product_input)
    }

    /// The largest error of a result near zero by underflow.
    pub(crate) fn tiny(&self) -> f64 {
        self.sum(|side| side.tiny)
    }

    /// The largest error of a term of `name`'s sum by underflow. Gradients of parameters may be summed by atomic
    /// additions, which flush subnormal numbers to 0 (PTX ISA, `red`: `.add.f32` on global memory).
    pub(crate) fn tiny_term(&self, name: TensorName) -> f64 {
        let atomic = matches!(name, TensorName::Dw(_) | TensorName::Db(_));
        let flushed =
            |side: &Side| if side.unit < 1e-10 { side.tiny } else { f64::from(f32::MIN_POSITIVE) };
        if atomic { self.sum(flushed) } else { self.tiny() }
    }

    /// The largest error of an output function near zero: 1 over a sum of exponentials that overflows is 0.
    pub(crate) fn least_quotient(&self) -> f64 {
        self.sum(|side| if side.unit < 1e-10 { side.tiny } else { 1.0 / f64::from(f32::MAX) })
    }

    /// The relative error of `exp(x)` that is computed from a rounded `x`, `|x| = magnitude`.
    pub(crate) fn exp(&self, magnitude: f64) -> f64 {
        let ulps = EXP_ULPS + CORRECTLY_ROUNDED + EXP_ULPS_PER_UNIT * magnitude;
        // exp turns the absolute error of its argument into a relative one.
        (ULP * ulps + magnitude) * self.gamma(1)
    }

    /// The absolute error of a logarithm whose value is `log`.
    pub(crate) fn log(&self, log: f64) -> f64 {
        (LOG_ABSOLUTE).max(ULP * (LOG_ULPS + CORRECTLY_ROUNDED) * log.abs()) * self.gamma(1)
    }

    /// The relative error of a division.
    pub(crate) fn division(&self) -> f64 {
        ULP * (DIVISION_ULPS + CORRECTLY_ROUNDED) * self.gamma(1)
    }
}
