//! How far one operation in floating point may stray from the exact one: the constants of the
//! error analysis, each with its source.
//!
//! The difference between two dumps is at most the sum of what each may be off the exact values,
//! so every function here adds up both sides. A `float64` side adds next to nothing.
//!
//! - γₙ: N. Higham, *Accuracy and Stability of Numerical Algorithms*, 2nd edition, section 3.1 and
//!   lemma 3.1: n factors `1 + δ`, `|δ| ≤ u`, multiply to at most `1 + γₙ`, `γₙ = n·u / (1 − n·u)`.
//!   It holds for every order of summation and with or without fused multiply-add.
//! - `exp`, `log`, division: the *CUDA C++ Programming Guide*, appendix on mathematical functions.
//!   The bound taken is that of the fast intrinsics `__expf`, `__logf` and `__fdividef`, the widest
//!   there is: a level written in PTX uses `ex2.approx`, which is what they are made of. `expf` (2
//!   ulp), `logf` (1 ulp) and a host's `libm` (below 1 ulp) lie within it.

use tensor::{Dtype, Header};

/// One ulp, as a multiple of the unit roundoff: of a value `v` it is at most `2·u·|v|`.
const ULP: f64 = 2.0;
/// What a correctly rounded result is off by itself; the Guide counts from it.
const CORRECTLY_ROUNDED: f64 = 0.5;
/// `__expf(x)`: at most `2 + floor(|1.173·x|)` ulp.
const EXP_ULPS: f64 = 2.0;
const EXP_ULPS_PER_UNIT: f64 = 1.173;
/// `__logf(x)`: at most 3 ulp, and `2^-21.41` where `x` lies within `[0.5, 2]`, which is this many
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
    /// The same for the additions inside of a matrix product.
    product_unit: f64,
    /// The relative error of a matrix product's inputs.
    product_input: f64,
    /// The smallest normal number: what is below it may become 0 (`.ftz`).
    tiny: f64,
}

impl Side {
    fn of(dtype: Dtype) -> Self {
        let single = (-24_f64).exp2();
        let smallest = f64::from(f32::MIN_POSITIVE);
        match dtype {
            Dtype::F64 => {
                let unit = (-53_f64).exp2();
                Self { unit, product_unit: unit, product_input: 0.0, tiny: f64::MIN_POSITIVE }
            }
            Dtype::F32 => {
                Self { unit: single, product_unit: single, product_input: 0.0, tiny: smallest }
            }
            // 10 fraction bits, rounded to nearest. Tensor cores cut off rather than round when
            // they add (M. Fasi, N. Higham, M. Mikaitis, S. Pranesh, "Numerical behavior of NVIDIA
            // tensor cores", PeerJ Computer Science 7:e330, 2021): a whole ulp, not half of one.
            Dtype::Tf32 => Self {
                unit: single,
                product_unit: 2.0 * single,
                product_input: (-11_f64).exp2(),
                tiny: smallest,
            },
        }
    }
}

impl Side {
    /// The same where what was computed has been rounded to so many decimal digits since. A value
    /// that an operation reads may be off, each of its two factors in a product, and its result.
    fn rounded(self, digits: Option<u32>) -> Self {
        let Some(digits) = digits else { return self };
        let decimal = 3.0 * 0.5 * 10_f64.powi(1 - digits.min(400) as i32);
        Self { unit: self.unit + decimal, product_unit: self.product_unit + decimal, ..self }
    }
}

/// γₙ of unit roundoff `unit`, or infinity where n is so large that nothing can be said.
fn gamma_of(n: usize, unit: f64) -> f64 {
    let nu = n as f64 * unit;
    if nu < 1.0 { nu / (1.0 - nu) } else { f64::INFINITY }
}

/// The rounding errors of two dumps together.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rounding {
    sides: [Side; 2],
}

impl Rounding {
    /// Of two dumps.
    pub(crate) fn between(reference: &Header, candidate: &Header) -> Self {
        let side = |header: &Header| Side::of(header.dtype).rounded(header.digits);
        Self { sides: [side(reference), side(candidate)] }
    }

    /// Of a dump, and what this program computes in `float64` from the same inputs.
    pub(crate) fn of_one(candidate: &Header) -> Self {
        let side = Side::of(candidate.dtype).rounded(candidate.digits);
        Self { sides: [Side::of(Dtype::F64), side] }
    }

    #[cfg(test)]
    pub(crate) fn new(reference: Dtype, candidate: Dtype) -> Self {
        Self { sides: [Side::of(reference), Side::of(candidate)] }
    }

    fn sum(&self, of: impl Fn(&Side) -> f64) -> f64 {
        self.sides.iter().map(of).sum()
    }

    /// γₙ: the relative error of n roundings in a row, or of each term of a sum of n terms.
    pub(crate) fn gamma(&self, n: usize) -> f64 {
        self.sum(|side| gamma_of(n, side.unit))
    }

    /// The relative error of each term of a matrix product in which a term takes part in `n`
    /// roundings, its inputs' rounding to TF32 included: `(1 + t)²·(1 + γₙ) − 1`.
    pub(crate) fn product(&self, n: usize) -> f64 {
        self.sum(|side| {
            let (gamma, t) = (gamma_of(n, side.product_unit), side.product_input);
            gamma + (2.0 * t + t * t) * (1.0 + gamma)
        })
    }

    /// What a result near zero may lose by underflow.
    pub(crate) fn tiny(&self) -> f64 {
        self.sum(|side| side.tiny)
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
    use super::*;

    #[test]
    fn gamma_is_a_little_more_than_n_roundings() {
        let f32_only = Rounding::new(Dtype::F64, Dtype::F32).gamma(1000);
        assert!(f32_only > 1000.0 * (-24_f64).exp2());
        assert!(f32_only < 1000.1 * (-24_f64).exp2());
        assert!((Rounding::new(Dtype::F32, Dtype::F32).gamma(1000) / f32_only - 2.0).abs() < 1e-6);
        assert!(Rounding::new(Dtype::F64, Dtype::F32).gamma(1 << 24).is_infinite());
    }

    #[test]
    fn tf32_rounds_both_inputs_of_a_product_and_nothing_else() {
        let tf32 = Rounding::new(Dtype::F64, Dtype::Tf32);
        let f32 = Rounding::new(Dtype::F64, Dtype::F32);
        assert!(tf32.product(30) > 2.0 * (-11_f64).exp2());
        assert!(tf32.product(30) < 2.1 * (-11_f64).exp2());
        assert_eq!(tf32.gamma(30), f32.gamma(30));
    }

    /// The constants are multiples of float32's unit roundoff.
    #[test]
    fn the_logarithm_is_that_of_the_guide() {
        let log = Rounding::new(Dtype::F64, Dtype::F32).log(0.0);
        assert!(log >= (-21.41_f64).exp2() && log < 1.01 * (-21.41_f64).exp2());
    }
}
