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
//!   products and the sum so far at once (F. A. Khattak and M. Mikaitis, "Accurate Models of NVIDIA Tensor
//!   Cores", arXiv 2512.07004; before them M. Fasi, N. Higham, M. Mikaitis and S. Pranesh, "Numerical behavior
//!   of NVIDIA tensor cores", PeerJ Computer Science 7:e330, 2021). Let `S` be the sum of the magnitudes of
//!   those `g + 1` terms, and `e` the largest of their exponents, so that `2^e ≤ S`. The digits of a term below
//!   `2^(e−f)` are cut off, but the one with the exponent `e` has no digits there: `g` terms lose less than
//!   `2^(e−f) ≤ 2^−f·S` each. The sum is cut off to 24 digits, and loses less than `2u` of itself, which
//!   isn't more than `S`. As whatever is cut off only shrinks, `S` is at most the sum of the magnitudes of
//!   all products so far. So n products, in `⌈n/g⌉` groups, err by at most
//!
//!   ```text
//!   (n·2^−f + ⌈n/g⌉·2u) · Σ|aᵢ||bᵢ|
//!   ```
//!
//!   With compute capability 8.x, `f` = 24 and `g` = 4 for TF32, that is `n + 2·⌈n/4⌉` times `u`; for bfloat16
//!   `g` = 8. With 9.0, `f` = 25 and groups twice as large, it is less; the bound is that of 8.x. It also holds for sums that several accumulators share:
//!   each has fewer products, and adding the parts up is a rounding for each. Zeros, which fill up an
//!   instruction, lose nothing. n roundings to nearest would be `n` times `u`, which isn't enough: a test
//!   here has the sum that shows it.
//! - Single precision from tensor cores, each factor as the sum of three TF32 numbers `h + m + l`, whose
//!   header says `f32`: it has to be within `γ` of ordinary sums, and is. A group of `t` terms, among them
//!   the sum so far where that isn't 0, loses less than `(t − 2)·2^−f·2^e` with the digits of its terms and
//!   those of the sum, and `2u·S` when the sum is cut off: with `f` = 24 that is `t·u·S`. The products `h·h`
//!   are added eight at a time, from 0 on: in two groups of four, the second with the sum of the first, they
//!   lose less than `9u·S`; with 9.0, whose groups have eight, `5u·S`. Ordinary additions put `⌈n/8⌉` such
//!   sums together. The five small products are at most `2^−10·(1 + 2^−9)` of the whole, and lose less than
//!   `50u` of that for each eight terms; what is left out is below `2^−32·(1 + 2^−9)` of it; one addition
//!   more joins the two sums. Together
//!
//!   ```text
//!   (9·(1 + 2^−9) + 1.05·⌈n/8⌉ + 2^−7)·u · Σ|aᵢ||bᵢ|
//!   ```
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

    /// γₙ of an ordinary sum.
    fn gamma(&self, n: usize) -> f64 {
        grown(n as f64 * self.unit)
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

    /// The rounding errors of a dump of this type and of a recomputation in `float64`.
    #[cfg(test)]
    pub(crate) fn of_type(dtype: Dtype) -> Self {
        Self { sides: [Side::new(Dtype::F64, None), Side::new(dtype, None)] }
    }

    fn sum(&self, of: impl Fn(&Side) -> f64) -> f64 {
        self.sides.iter().map(of).sum()
    }

    /// γₙ: the relative error of n roundings in a row, or of each term of a sum of n terms.
    pub(crate) fn gamma(&self, n: usize) -> f64 {
        self.sum(|side| side.gamma(n))
    }

    /// The relative error of a term that is added to a sum of products, in which it takes part in `n`
    /// additions: γₙ, and more where tensor cores cut off.
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tensor_core::Format;

    use super::*;

    #[test]
    fn gamma_is_a_little_more_than_n_roundings() {
        let f32_only = Rounding::of_type(Dtype::F32).gamma(1000);
        assert!(f32_only > 1000.0 * (-24_f64).exp2());
        assert!(f32_only < 1000.1 * (-24_f64).exp2());
        let two = Rounding { sides: [Side::new(Dtype::F32, None); 2] };
        assert!((two.gamma(1000) / f32_only - 2.0).abs() < 1e-6);
        assert!(Rounding::of_type(Dtype::F32).gamma(1 << 24).is_infinite());
    }

    #[test]
    fn tf32_rounds_both_inputs_of_a_product_and_nothing_else() {
        let tf32 = Rounding::of_type(Dtype::Tf32);
        let f32 = Rounding::of_type(Dtype::F32);
        assert!(tf32.product(30) > 2.0 * (-11_f64).exp2());
        assert!(tf32.product(30) < 2.1 * (-11_f64).exp2());
        assert_eq!(tf32.gamma(30), f32.gamma(30));
    }

    /// 1 + 2⁻⁸ is halfway between two bfloat16 numbers, and the even one is 1: its square would exceed a bound that is
    /// narrower by 2 %.
    #[test]
    fn bfloat16_rounds_both_inputs_of_a_product_by_a_half_of_its_last_digit() {
        let bf16 = Rounding::of_type(Dtype::Bf16);
        let factor = 1.0 + (-8_f64).exp2();
        let (exact, rounded) = (factor * factor, 1.0);
        let allowed = bf16.product(1) * exact;
        assert!((exact - rounded) <= allowed && (exact - rounded) > 0.98 * allowed, "{allowed}");
        assert_eq!(bf16.gamma(30), Rounding::of_type(Dtype::F32).gamma(30));
    }

    /// The error of a sum of these products, as a multiple of 2⁻²⁴ Σ|aᵢ||bᵢ|.
    fn units(sum: f32, factors: &[(f32, f32)]) -> f64 {
        let products = factors.iter().map(|&(a, b)| f64::from(a) * f64::from(b));
        let (exact, size) = (products.clone().sum::<f64>(), products.map(f64::abs).sum::<f64>());
        (f64::from(sum) - exact).abs() / size * 24_f64.exp2()
    }

    /// The sum of products on tensor cores, added to `c`.
    fn dot(capability: u32, format: Format, factors: &[(f32, f32)], c: f32) -> f32 {
        let rules = tensor_core::Rules::new(capability, format);
        tensor_core::dot(&rules, (format, format), tensor_core::Sum::Single, factors, c)
    }

    fn units_off(capability: u32, format: Format, factors: &[(f32, f32)]) -> f64 {
        units(dot(capability, format, factors, 0.0), factors)
    }

    /// The bound of a sum of `n` products in the same unit.
    fn allowed(dtype: Dtype, n: usize) -> f64 {
        Rounding::of_type(dtype).product_sum(n) * 24_f64.exp2()
    }

    const TENSOR_CORES: [u32; 4] = [80, 86, 89, 90];

    /// Factors whose sum of products loses as much as possible: 1, and then groups of four products, three of nearly
    /// one unit in the last place of the sum and one of nearly two. An A100 loses four units with their digits, and one
    /// more when it cuts the sum off. With bfloat16, a group has eight products.
    fn often_cut(format: Format) -> Vec<(f32, f32)> {
        let (group, digits) = if format == Format::Bf16 { (8, -7_f32) } else { (4, -10_f32) };
        let (unit, below) = ((-12_f32).exp2(), 2.0 - digits.exp2());
        let product = |k: usize| match k {
            0 => (1.0, 1.0),
            _ if k.is_multiple_of(group) => (unit, unit * below),
            _ => (unit, unit * below / 2.0),
        };
        (0..784).map(product).collect()
    }

    #[test]
    fn truncated_sums_need_a_wider_bound_than_rounding_to_nearest() {
        let to_nearest = allowed(Dtype::F32, 784);
        for (format, dtype, more) in
            [(Format::Tf32, Dtype::Tf32, 1.2), (Format::Bf16, Dtype::Bf16, 1.1)]
        {
            let factors = often_cut(format);
            let off = units_off(80, format, &factors);
            let cut_off = allowed(dtype, 784);
            assert!(off > more * to_nearest, "{off} is within {to_nearest}");
            assert!(off < cut_off, "{off} is beyond {cut_off}");
            // Rounding to nearest is within its own bound, of the same products.
            let nearest = factors.iter().fold(0.0_f32, |sum, &(a, b)| a.mul_add(b, sum));
            assert!(units(nearest, &factors) <= to_nearest);
            for capability in TENSOR_CORES {
                assert!(units_off(capability, format, &factors) < cut_off);
            }
        }
    }

    /// The error of the sum for single-precision factors, split into three TF32 numbers each: six products, of which the
    /// largest is summed in groups of eight, whose sums are added by ordinary additions.
    fn three_off(capability: u32, factors: &[(f32, f32)]) -> f64 {
        let split = |x: f32| {
            let tf32 = |x: f32| f32::from_bits((x.to_bits() + 0x1000) & 0xffff_e000);
            let (high, middle) = (tf32(x), tf32(x - tf32(x)));
            [high, middle, x - high - middle]
        };
        let (mut large, mut small) = (0.0_f32, 0.0_f32);
        for eight in factors.chunks(8) {
            let of = |i: usize, j: usize| -> Vec<(f32, f32)> {
                eight.iter().map(|&(a, b)| (split(a)[i], split(b)[j])).collect()
            };
            for (i, j) in [(2, 0), (0, 2), (1, 1), (1, 0), (0, 1)] {
                small = dot(capability, Format::Tf32, &of(i, j), small);
            }
            large += dot(capability, Format::Tf32, &of(0, 0), 0.0);
        }
        units(large + small, factors)
    }

    /// The sum that loses most above, computed as single precision.
    #[test]
    fn three_tf32_numbers_are_within_single_precision() {
        for capability in TENSOR_CORES {
            let off = three_off(capability, &often_cut(Format::Tf32));
            assert!(off <= 112.0, "{off} on {capability}");
            assert!(off <= allowed(Dtype::F32, 784));
        }
        // One term, of which all parts are as large as they can be.
        let most = f32::from_bits(0x3f80_17ff);
        assert!(three_off(80, &[(most, most)]) <= 1.02);
    }

    prop_compose! {
        /// Factors of very different sizes.
        fn any_factors(limit: usize)(
            factors in prop::collection::vec((-2.0_f32..2.0, -2.0_f32..2.0, -12..12_i32), 1..limit)
        ) -> Vec<(f32, f32)> {
            factors.into_iter().map(|(a, b, e)| (a, b * (e as f32).exp2())).collect()
        }
    }

    proptest! {
        #[test]
        fn sums_of_three_tf32_numbers_are_within_the_bound_of_single_precision(
            factors in any_factors(100),
            capability in prop::sample::select(TENSOR_CORES.to_vec()),
        ) {
            prop_assume!(factors.iter().any(|&(a, b)| a * b != 0.0));
            // Without the addition of a bias.
            let allowed = allowed(Dtype::F32, factors.len().max(12));
            let off = three_off(capability, &factors);
            prop_assert!(off <= allowed, "{} of {}", off, allowed);
        }

        #[test]
        fn sums_on_tensor_cores_are_within_the_bound(
            factors in any_factors(200),
            capability in prop::sample::select(TENSOR_CORES.to_vec()),
            positive in any::<bool>(),
            (format, dtype, digits) in prop::sample::select(vec![
                (Format::Tf32, Dtype::Tf32, 0xffff_e000),
                (Format::Bf16, Dtype::Bf16, 0xffff_0000),
            ]),
        ) {
            let short = |x: f32| {
                let x = f32::from_bits(x.to_bits() & digits);
                if positive { x.abs() } else { x }
            };
            let factors: Vec<(f32, f32)> =
                factors.into_iter().map(|(a, b)| (short(a), short(b))).collect();
            prop_assume!(factors.iter().any(|&(a, b)| a * b != 0.0));
            let allowed = allowed(dtype, factors.len());
            let off = units_off(capability, format, &factors);
            prop_assert!(off <= allowed, "{} of {}", off, allowed);
        }
    }

    /// The constants are multiples of float32's unit roundoff.
    #[test]
    fn the_logarithm_is_that_of_the_guide() {
        let log = Rounding::of_type(Dtype::F32).log(0.0);
        assert!(log >= (-21.41_f64).exp2() && log < 1.01 * (-21.41_f64).exp2());
    }
}
