//! The end of the forward pass: the functions that turn the last `z` into `p` and into the loss, and the bounds of
//! the errors of both.
//!
//! `z` errs by at most its bound `d`, and the functions here are monotone in every `z`, so the farthest that `p` and
//! the loss can get is found at the ends of the intervals `z ± d`, without linearising. All differences are written
//! with `expm1` and `ln_1p`, so that a bound of 10⁻¹⁶ is not lost in the subtraction of two numbers near 1.

use tensor::Loss;

use super::count;
use crate::judge::rounding::Rounding;
use crate::numeric::{largest, log_sum_exp, sigmoid, softmax};

/// The last `z` of a batch, `[B, classes]`, and the bounds of its elements' errors.
pub(crate) struct Logits<'a> {
    pub(crate) z: &'a [f64],
    pub(crate) errors: &'a [f64],
    pub(crate) classes: usize,
}

impl Logits<'_> {
    fn rows(&self) -> impl Iterator<Item = (&[f64], &[f64])> {
        let classes = self.classes.max(1);
        self.z.chunks_exact(classes).zip(self.errors.chunks_exact(classes))
    }

    /// The bounds of the errors of `p`, `[B, classes]`.
    pub(crate) fn output_errors(&self, loss: Loss, rounding: &Rounding) -> Vec<f64> {
        match loss {
            Loss::CrossEntropy => {
                self.rows().flat_map(|(z, d)| softmax_errors(z, d, rounding)).collect()
            }
            Loss::Bce => {
                let elements = self.z.iter().zip(self.errors);
                elements.map(|(&z, &d)| sigmoid_error(z, d, rounding)).collect()
            }
            Loss::SquaredError => self.errors.to_vec(),
        }
    }

    /// The bound of the error of the loss as the preset prints it; `y` has the shape of `z`.
    pub(crate) fn loss_error(&self, loss: Loss, y: &[f64], rounding: &Rounding) -> f64 {
        let samples = self.rows().zip(y.chunks_exact(self.classes.max(1)));
        // For all samples: the sum of the magnitudes of the terms, and the bound of its error.
        let (size, error) = sums(samples.map(|((z, d), y)| match loss {
            Loss::CrossEntropy => cross_entropy_error(z, d, y, rounding),
            Loss::Bce => bce_error(z, d, y, rounding),
            Loss::SquaredError => squared_error_error(z, d, y, rounding),
        }));
        // Summed in any order, multiplied by y or ½, and divided by the number of terms.
        let terms = self.z.len() + 3;
        (error + rounding.gamma(terms) * (size + error)) / divisor(loss, self.z.len(), self.classes)
            + rounding.tiny()
    }
}

/// The sums of both numbers of all terms.
fn sums(terms: impl Iterator<Item = (f64, f64)>) -> (f64, f64) {
    terms.fold((0.0, 0.0), |(size, error), term| (size + term.0, error + term.1))
}

/// The number that a sum over all samples (and outputs) is divided by.
fn divisor(loss: Loss, elements: usize, classes: usize) -> f64 {
    match loss {
        Loss::Bce => count(elements),
        Loss::CrossEntropy | Loss::SquaredError => count(elements) / count(classes),
    }
}

/// `p` of the whole batch.
pub(crate) fn output(loss: Loss, z: &[f64], classes: usize) -> Vec<f64> {
    match loss {
        Loss::CrossEntropy => z.chunks_exact(classes.max(1)).flat_map(softmax).collect(),
        Loss::Bce => z.iter().map(|&z| sigmoid(z)).collect(),
        Loss::SquaredError => z.to_vec(),
    }
}

/// The loss of the whole batch, as the preset prints it.
pub(crate) fn loss(loss: Loss, z: &[f64], y: &[f64], classes: usize) -> f64 {
    let sum: f64 = match loss {
        Loss::CrossEntropy => {
            let samples = z.chunks_exact(classes.max(1)).zip(y.chunks_exact(classes.max(1)));
            let term = |(z, y): (&[f64], &[f64])| -> f64 {
                z.iter().zip(y).map(|(z_c, y_c)| y_c * (log_sum_exp(z) - z_c)).sum()
            };
            samples.map(term).sum()
        }
        // −y·ln p − (1 − y)·ln(1 − p), from the logit.
        Loss::Bce => {
            let term = |(z, y): (&f64, &f64)| z.max(0.0) - z * y + (-z.abs()).exp().ln_1p();
            z.iter().zip(y).map(term).sum()
        }
        Loss::SquaredError => z.iter().zip(y).map(|(z, y)| 0.5 * (z - y) * (z - y)).sum(),
    };
    sum / divisor(loss, z.len(), classes)
}

/// The relative rounding errors of softmax's numerators `exp(z_j − max)` and of their sum.
fn exponential_errors(z: &[f64], d: &[f64], p: &[f64], rounding: &Rounding) -> (Vec<f64>, f64) {
    let (largest_z, largest_d) = (largest(z), largest(d));
    let exponentials: Vec<f64> =
        z.iter().zip(d).map(|(z, d)| rounding.exp(largest_z - z + largest_d + d)).collect();
    // Each numerator weighs in the sum as much as its own p, which may itself be off by exp(2d).
    let weighted: f64 = p.iter().zip(&exponentials).map(|(p, e)| p * e).sum();
    let sum = (weighted * (2.0 * largest_d).exp()).min(largest(&exponentials));
    (exponentials, sum + rounding.gamma(z.len()))
}

/// The bounds of the errors of softmax of one sample. With `|z_j − ẑ_j| ≤ d_j`, `p_i` is largest where `z_i` is up by
/// `d_i` and every other `z_j` is down by `d_j`, and smallest the other way round.
fn softmax_errors(z: &[f64], d: &[f64], rounding: &Rounding) -> Vec<f64> {
    let p = softmax(z);
    let (exponentials, sum_error) = exponential_errors(z, d, &p, rounding);
    let error = |i: usize| {
        let others = || (0..p.len()).filter(|&j| j != i);
        // p·e^d / (p·e^d + Σ p_j·e^−d_j) − p, and the same with the signs exchanged.
        let moved = |sign: f64| {
            let gap: f64 =
                others().map(|j| p[j] * ((sign * d[i]).exp_m1() - (-sign * d[j]).exp_m1())).sum();
            let sum: f64 = others().map(|j| p[j] * (-sign * d[j]).exp()).sum();
            (p[i] * gap / (p[i] * (sign * d[i]).exp() + sum)).abs()
        };
        let propagated = moved(1.0).max(moved(-1.0));
        let relative = exponentials[i] + sum_error + rounding.division();
        let rounded = (p[i] + propagated) * relative / (1.0 - relative).max(0.0);
        // Two p are never farther apart than 1; this also replaces an overflow.
        (propagated + rounded).min(1.0) + 2.0 * rounding.least_quotient()
    };
    (0..p.len()).map(error).collect()
}

/// The bound of the error of sigmoid of one element: `σ(z + d) − σ(z) = p·(1 − p)·(e^d − 1) / (1 + p·(e^d − 1))`.
fn sigmoid_error(z: f64, d: f64, rounding: &Rounding) -> f64 {
    let (p, q) = (sigmoid(z), sigmoid(-z));
    let moved = |d: f64| (p * q * d.exp_m1() / (1.0 + p * d.exp_m1())).abs();
    let propagated = moved(d).max(moved(-d));
    // E / (1 + E): the error of E counts q-fold, then an addition and a division.
    let relative =
        (q + propagated) * rounding.exp(z.abs() + d) + rounding.gamma(1) + rounding.division();
    (propagated + (p + propagated) * relative).min(1.0) + 2.0 * rounding.least_quotient()
}

/// `Σ_c y_c·(ln Σ_j e^z_j − z_c)` of one sample, and the bound of its error.
fn cross_entropy_error(z: &[f64], d: &[f64], y: &[f64], rounding: &Rounding) -> (f64, f64) {
    let p = softmax(z);
    let (exponentials, sum_error) = exponential_errors(z, d, &p, rounding);
    let (top, total) = (largest(z), log_sum_exp(z));
    sums((0..z.len()).filter(|&c| y[c] != 0.0).map(|c| {
        let term = total - z[c];
        // −ln p_c moves by ln(p_c + Σ_{j≠c} p_j·e^(±(d_j + d_c))).
        let moved = |sign: f64| {
            let others = (0..z.len()).filter(|&j| j != c);
            others.map(|j| p[j] * (sign * (d[j] + d[c])).exp_m1()).sum::<f64>().ln_1p().abs()
        };
        // The z themselves move by no more than this, which is the better bound if p_c is lost in the sum.
        let farthest = largest(d) + d[c];
        let propagated = moved(1.0).min(farthest).max(moved(-1.0).min(farthest));
        // Either as ln Σ e^(z_j − max) + max − z_c, in whichever order, or as −ln p_c.
        let rounded = exponentials[c]
            + sum_error
            + rounding.division()
            + rounding.log(term + propagated)
            + rounding.gamma(1) * (top.abs() + total.abs() + (top - z[c]) + term + 2.0 * d[c]);
        (y[c].abs() * term.abs(), y[c].abs() * (propagated + rounded))
    }))
}

/// Binary cross-entropy, summed over one sample's outputs, and the bound of its error.
fn bce_error(z: &[f64], d: &[f64], y: &[f64], rounding: &Rounding) -> (f64, f64) {
    sums(z.iter().zip(d).zip(y).map(|((&z, &d), &y)| {
        let p = sigmoid(z);
        // ln(q + p·e^d) − d·y is the difference of the loss at z + d and at z; it is convex in d,
        // so one of the ends is the farthest.
        let moved = |d: f64| ((p * d.exp_m1()).ln_1p() - d * y).abs();
        // The slope, p − y, allows no more than this, which is the better bound if 1 − p is lost in rounding.
        let farthest = d * (1.0 + y.abs());
        let propagated = moved(d).min(farthest).max(moved(-d).min(farthest));
        let magnitude = z.abs() + d;
        let small = (-z.abs()).exp();
        // max(z, 0) − z·y + ln(1 + E): E, the 1 it is added to, the logarithm, two additions and the product with y.
        let rounded = small * rounding.exp(magnitude)
            + rounding.log(small.ln_1p())
            + rounding.gamma(1) * (1.0 + magnitude * (2.0 + 2.0 * y.abs()) + small.ln_1p());
        (z.max(0.0) + (z * y).abs() + small.ln_1p(), propagated + rounded)
    }))
}

/// `½·Σ_c (z − y)²` of one sample, and the bound of its error.
fn squared_error_error(z: &[f64], d: &[f64], y: &[f64], rounding: &Rounding) -> (f64, f64) {
    sums(z.iter().zip(d).zip(y).map(|((z, d), y)| {
        let difference = (z - y).abs();
        let square = 0.5 * difference * difference;
        // The difference is rounded once and counts twice, the square once.
        let propagated = difference * d + 0.5 * d * d;
        (square, propagated + rounding.gamma(3) * (square + propagated))
    }))
}
