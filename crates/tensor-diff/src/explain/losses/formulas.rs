//! Formulas that the loss may be mistaken for, and numbers that it may be a multiple or a sum of.

use tensor::{Loss, TensorName};

use super::super::{Function, Hypothesis, hypothesis};
use super::Step;
use crate::chain::count;
use crate::chain::output::loss as right_loss;
use crate::numeric::{largest, log_sum_exp, sigmoid, softplus};

/// A function of a step.
type OfStep = fn(&Step<'_>) -> f64;

const OF_STEPS: [(&str, OfStep); 6] = [
    ("what it should be", |step| step.expected),
    ("1", |_| 1.0),
    ("its exponential", |step| step.expected.exp()),
    ("the sum over the batch", |step| step.expected * count(step.chain.batch())),
    ("the largest of the samples' losses", largest_of_samples),
    ("the loss of the step before", |step| {
        let before = step.before.and_then(|before| before.get(TensorName::Loss));
        before.and_then(|loss| loss.data.first().copied()).unwrap_or(f64::NAN)
    }),
];

/// A function of a sample's logits and labels.
type OfRow = fn(&[f64], &[f64]) -> f64;

const OF_ROWS: [(&str, OfRow); 14] = [
    ("the mean of ln sum exp(z)", |z, _| log_sum_exp(z)),
    ("the mean of max z", |z, _| largest(z)),
    ("the mean of z of the class", own),
    ("the mean over samples of the sum of z²", |z, _| z.iter().map(|z| z * z).sum()),
    ("the mean of p of the class", class),
    ("the mean of 1 - p of the class", |z, y| 1.0 - class(z, y)),
    ("the mean of (1 - p) times the loss", |z, y| -(1.0 - class(z, y)) * class(z, y).ln()),
    ("the mean of (1 - p)² times the loss", |z, y| {
        -(1.0 - class(z, y)).powi(2) * class(z, y).ln()
    }),
    ("the mean of the classes' entropy", |z, _| logs(z).map(|log| -log.exp() * log).sum()),
    ("the sum of -ln p over all classes", |z, _| -logs(z).sum::<f64>()),
    ("the sum of -ln p over the other classes", |z, y| {
        logs(z).zip(y).map(|(log, y)| -(1.0 - y) * log).sum()
    }),
    ("the mean of (p - y)²", |z, y| {
        logs(z).zip(y).map(|(log, y)| (log.exp() - y).powi(2)).sum::<f64>() / count(z.len())
    }),
    ("the sum of (p - y)²", |z, y| logs(z).zip(y).map(|(log, y)| (log.exp() - y).powi(2)).sum()),
    ("the sum of -ln(1 - p) over the other classes", |z, y| {
        logs(z).zip(y).map(|(log, y)| -(1.0 - y) * (1.0 - log.exp()).ln()).sum()
    }),
];

/// Cross-entropy with a step left out or exchanged.
const WRONG_CROSS_ENTROPY: [(&str, OfRow); 6] = [
    ("log2 in place of ln, of the sum of exponentials", |z, y| {
        with_log_sum(z, y, sum(z).log2() + largest(z))
    }),
    ("log10 in place of ln, of the sum of exponentials", |z, y| {
        with_log_sum(z, y, sum(z).log10() + largest(z))
    }),
    ("max z is not added back to the logarithm of the sum", |z, y| with_log_sum(z, y, sum(z).ln())),
    ("only max z is left of the logarithm of the sum", |z, y| with_log_sum(z, y, largest(z))),
    ("the logarithm of the sum is not taken", |z, y| with_log_sum(z, y, sum(z) + largest(z))),
    ("z of the class is not subtracted", |z, y| log_sum_exp(z) * y.iter().sum::<f64>()),
];

/// A function of a logit and its label.
type OfElement = fn(f64, f64) -> f64;

const OF_ELEMENTS: [(&str, OfElement); 8] = [
    ("max(z, 0)", |z, _| z.max(0.0)),
    ("z·y", |z, y| z * y),
    ("ln(1 + exp(-|z|))", |z, _| log(z)),
    ("(z - y)²", |z, y| (z - y) * (z - y)),
    ("|z - y|", |z, y| (z - y).abs()),
    ("y·ln(1 + exp(-z))", |z, y| y * softplus(-z)),
    ("(1 - y)·ln(1 + exp(z))", |z, y| (1.0 - y) * softplus(z)),
    ("(sigmoid(z) - y)²", |z, y| (sigmoid(z) - y).powi(2)),
];

/// Wrong terms of binary cross-entropy, `max(z, 0) - z·y + ln(1 + exp(-|z|))`.
const WRONG_BCE: [(&str, OfElement); 8] = [
    ("the 1 + of ln(1 + exp(-|z|)) is left out", |z, y| z.max(0.0) - z * y - z.abs()),
    ("ln(1 + exp(-|z|)) is left out", |z, y| z.max(0.0) - z * y),
    ("the logarithm of 1 + exp(-|z|) is not taken", |z, y| {
        z.max(0.0) - z * y + 1.0 + (-z.abs()).exp()
    }),
    ("log2 in place of ln", |z, y| z.max(0.0) - z * y + log(z) / std::f64::consts::LN_2),
    ("max(z, 0) is left out", |z, y| log(z) - z * y),
    ("z·y is left out", |z, _| softplus(z)),
    ("z·y is added, not subtracted", |z, y| softplus(z) + z * y),
    ("the term of 1 - y is left out", |z, y| y * softplus(-z)),
];

/// Wrong terms of the squared error, `½(z - y)²`.
const WRONG_SQUARED_ERROR: [(&str, OfElement); 5] = [
    ("the difference is not squared", |z, y| 0.5 * (z - y)),
    ("the magnitude of the difference is not squared", |z, y| 0.5 * (z - y).abs()),
    ("y is added, not subtracted", |z, y| 0.5 * (z + y).powi(2)),
    ("y is left out", |z, _| 0.5 * z * z),
    ("from |z - y| = 1 on it is linear, as Huber's loss", |z, y| match (z - y).abs() {
        off @ ..1.0 => 0.5 * off * off,
        off => off - 0.5,
    }),
];

/// A function of a parameter's element; `#` stands for the parameter.
const OF_PARAMETERS: [Function; 2] = [("the sum of #²", |w| w * w), ("the sum of |#|", f64::abs)];

/// The mean of a function of the samples.
fn of_rows<'s>(steps: &'s [Step<'s>], (text, of): (&str, OfRow)) -> Hypothesis<'s> {
    hypothesis(text, move |at| {
        let (step, classes) = (&steps[at], steps[at].chain.outputs());
        let rows = step.z().chunks_exact(classes).zip(step.y().chunks_exact(classes));
        rows.map(|(z, y)| of(z, y)).sum::<f64>() / count(step.chain.batch())
    })
}

/// A function of the elements, summed as the loss is.
fn of_elements<'s>(steps: &'s [Step<'s>], text: &str, of: OfElement) -> Hypothesis<'s> {
    hypothesis(text, move |at| {
        let elements = steps[at].z().iter().zip(steps[at].y());
        elements.map(|(&z, &y)| of(z, y)).sum::<f64>() / steps[at].divisor()
    })
}

/// The hypotheses that a step of the formula is left out or exchanged, or that it is the formula of
/// another loss.
pub(super) fn wrong<'s>(steps: &'s [Step<'s>]) -> Vec<Hypothesis<'s>> {
    let of_elements = |(text, of): (&str, OfElement)| of_elements(steps, text, of);
    let mut all: Vec<Hypothesis<'s>> = match steps[0].loss() {
        Loss::CrossEntropy => WRONG_CROSS_ENTROPY.map(|of| of_rows(steps, of)).into(),
        Loss::Bce => WRONG_BCE.map(of_elements).into(),
        Loss::SquaredError => WRONG_SQUARED_ERROR.map(of_elements).into(),
    };
    all.extend(Loss::ALL.map(|other| {
        hypothesis(format!("it is another loss: {other}"), move |at| {
            right_loss(other, steps[at].z(), steps[at].y(), steps[at].chain.outputs())
        })
    }));
    all
}

/// The numbers that may be summands of a loss; the right value is the first.
pub(super) fn summands<'s>(steps: &'s [Step<'s>]) -> Vec<Hypothesis<'s>> {
    let mut all: Vec<Hypothesis<'s>> =
        OF_STEPS.map(|(text, of)| hypothesis(text, move |at| of(&steps[at]))).into();
    all.extend(OF_ROWS.map(|of| of_rows(steps, of)));
    all.extend(OF_ELEMENTS.map(|(text, of)| {
        of_elements(steps, &format!("the mean of {text}, summed as the loss is"), of)
    }));
    let layers = 1..=steps[0].chain.layers();
    let weights: Vec<TensorName> = layers.clone().map(TensorName::W).collect();
    let each = layers.flat_map(|layer| [TensorName::W(layer), TensorName::B(layer)]);
    let each = each.map(|name| (name.to_string(), vec![name]));
    for (text, names) in each.chain([("all weights".to_owned(), weights)]) {
        all.extend(OF_PARAMETERS.map(|(what, of)| {
            let names = names.clone();
            hypothesis(what.replace('#', &text), move |at| {
                let all: Option<Vec<&[f64]>> =
                    names.iter().map(|&name| steps[at].chain.get(name)).collect();
                all.map_or(f64::NAN, |all| all.into_iter().flatten().map(|&w| of(w)).sum())
            })
        }));
    }
    all
}

/// The sum of exponentials as a kernel computes it, with the largest `z` subtracted.
fn sum(z: &[f64]) -> f64 {
    z.iter().map(|c| (c - largest(z)).exp()).sum()
}

/// Cross-entropy of a sample with another number in the place of `ln Σ exp(z)`.
fn with_log_sum(z: &[f64], y: &[f64], log_sum: f64) -> f64 {
    log_sum * y.iter().sum::<f64>() - own(z, y)
}

fn log(z: f64) -> f64 {
    (-z.abs()).exp().ln_1p()
}

/// `z` of the sample's class.
fn own(z: &[f64], y: &[f64]) -> f64 {
    z.iter().zip(y).map(|(z, y)| z * y).sum()
}

/// Softmax's `p` of the sample's class.
fn class(z: &[f64], y: &[f64]) -> f64 {
    (own(z, y) - log_sum_exp(z)).exp()
}

/// `ln p` of each class.
fn logs(z: &[f64]) -> impl Iterator<Item = f64> {
    let log_sum = log_sum_exp(z);
    z.iter().map(move |z| z - log_sum)
}

/// The largest loss of a sample.
fn largest_of_samples(step: &Step<'_>) -> f64 {
    let terms = step.terms(step.z(), step.y());
    let rows = terms.chunks_exact(step.chain.outputs());
    largest(&rows.map(|row| row.iter().sum()).collect::<Vec<f64>>()) * count(step.chain.batch())
}
