//! Numbers that a loss may be a sum of.

use tensor::TensorName;

use super::{Prediction, Step};
use crate::chain::count;
use crate::numeric::{extremes, largest, log_sum_exp, sigmoid, softplus};

/// A function of a step.
type OfStep = fn(&Step<'_>) -> f64;

const OF_STEPS: [(&str, OfStep); 14] = [
    ("what it should be", |step| step.expected),
    ("1", |_| 1.0),
    ("its square", |step| step.expected * step.expected),
    ("its logarithm", |step| step.expected.ln()),
    ("its exponential", |step| step.expected.exp()),
    ("its root", |step| step.expected.sqrt()),
    ("1 over the batch", |step| 1.0 / count(step.chain.batch())),
    ("the sum over the batch", |step| step.expected * count(step.chain.batch())),
    ("the sum of the samples' losses, squared", |step| mean_of_samples(step, |loss| loss * loss)),
    ("the roots of the samples' losses", |step| mean_of_samples(step, f64::sqrt)),
    ("the magnitudes of the samples' losses", |step| mean_of_samples(step, f64::abs)),
    ("the largest of the samples' losses", |step| extremes(samples(step)).1),
    ("the smallest of the samples' losses", |step| extremes(samples(step)).0),
    ("the loss of the step before", |step| {
        let before = step.before.and_then(|before| before.get(TensorName::Loss));
        before.and_then(|loss| loss.data.first().copied()).unwrap_or(f64::NAN)
    }),
];

/// A function of a sample's logits and labels.
type OfRow = fn(&[f64], &[f64]) -> f64;

const OF_ROWS: [(&str, OfRow); 16] = [
    ("the mean of ln sum exp(z)", |z, _| log_sum_exp(z)),
    ("the mean of max z", |z, _| largest(z)),
    ("the mean of z of the class", |z, y| z.iter().zip(y).map(|(z, y)| z * y).sum()),
    ("the mean over samples of the sum of z", |z, _| z.iter().sum()),
    ("the mean over samples of the sum of z²", |z, _| z.iter().map(|z| z * z).sum()),
    ("the mean over samples of the sum of |z|", |z, _| z.iter().map(|z| z.abs()).sum()),
    ("the mean of p of the class", class),
    ("the mean of 1 - p of the class", |z, y| 1.0 - class(z, y)),
    ("the mean of (1 - p) times the loss", |z, y| -(1.0 - class(z, y)) * class(z, y).ln()),
    ("the mean of (1 - p)² times the loss", |z, y| {
        -(1.0 - class(z, y)).powi(2) * class(z, y).ln()
    }),
    ("the mean of p times the loss", |z, y| -class(z, y) * class(z, y).ln()),
    ("the mean of the classes' entropy", |z, _| logs(z).map(|log| -log.exp() * log).sum()),
    ("the sum of -ln p over all classes", |z, _| -logs(z).sum::<f64>()),
    ("the sum of -ln p over the other classes", |z, y| {
        logs(z).zip(y).map(|(log, y)| -(1.0 - y) * log).sum()
    }),
    ("the sum of (p - y)²", |z, y| logs(z).zip(y).map(|(log, y)| (log.exp() - y).powi(2)).sum()),
    ("the sum of -ln(1 - p) over the other classes", |z, y| {
        logs(z).zip(y).map(|(log, y)| -(1.0 - y) * (1.0 - log.exp()).ln()).sum()
    }),
];

/// A function of a logit and its label.
type OfElement = fn(f64, f64) -> f64;

const OF_ELEMENTS: [(&str, OfElement); 12] = [
    ("max(z, 0)", |z, _| z.max(0.0)),
    ("z·y", |z, y| z * y),
    ("ln(1 + exp(-|z|))", |z, _| (-z.abs()).exp().ln_1p()),
    ("exp(-|z|)", |z, _| (-z.abs()).exp()),
    ("|z|", |z, _| z.abs()),
    ("z", |z, _| z),
    ("(z - y)²", |z, y| (z - y) * (z - y)),
    ("|z - y|", |z, y| (z - y).abs()),
    ("(z - y)⁴", |z, y| (z - y).powi(4)),
    ("y·ln(1 + exp(-z))", |z, y| y * softplus(-z)),
    ("(1 - y)·ln(1 + exp(z))", |z, y| (1.0 - y) * softplus(z)),
    ("(sigmoid(z) - y)²", |z, y| (sigmoid(z) - y).powi(2)),
];

/// A function of a parameter's element; `#` stands for the parameter.
type OfParameter = (&'static str, fn(f64) -> f64);

const OF_PARAMETERS: [OfParameter; 2] =
    [("the sum of #²", |w| w * w), ("the sum of |#|", f64::abs)];

/// All of them, with their names; the right value is the first.
pub(super) fn summands(layers: usize) -> Vec<(String, Prediction<'static>)> {
    let mut all: Vec<(String, Prediction<'static>)> = Vec::new();
    let mut push = |text: String, of: Prediction<'static>| all.push((text, of));
    for (text, of) in OF_STEPS {
        push(text.into(), Box::new(of));
    }
    for (text, of) in OF_ROWS {
        let mean = move |step: &Step<'_>| {
            let classes = step.chain.outputs();
            let rows = step.z().chunks_exact(classes).zip(step.y().chunks_exact(classes));
            rows.map(|(z, y)| of(z, y)).sum::<f64>() / count(step.chain.batch())
        };
        push(text.into(), Box::new(mean));
    }
    for (text, of) in OF_ELEMENTS {
        let mean = move |step: &Step<'_>| {
            let elements = step.z().iter().zip(step.y());
            elements.map(|(&z, &y)| of(z, y)).sum::<f64>() / step.divisor()
        };
        push(format!("the mean of {text}, summed as the loss is"), Box::new(mean));
    }
    for name in (1..=layers).flat_map(|layer| [TensorName::W(layer), TensorName::B(layer)]) {
        for (text, of) in OF_PARAMETERS {
            let sum = move |step: &Step<'_>| {
                step.chain.get(name).map_or(f64::NAN, |w| w.iter().map(|&w| of(w)).sum())
            };
            push(text.replace('#', &name.to_string()), Box::new(sum));
        }
    }
    all
}

/// `ln p` of each class.
fn logs(z: &[f64]) -> impl Iterator<Item = f64> {
    let log_sum = log_sum_exp(z);
    z.iter().map(move |z| z - log_sum)
}

/// Softmax's `p` of the sample's class.
fn class(z: &[f64], y: &[f64]) -> f64 {
    let own: f64 = z.iter().zip(y).map(|(z, y)| z * y).sum();
    (own - log_sum_exp(z)).exp()
}

/// The loss of each sample.
fn samples(step: &Step<'_>) -> Vec<f64> {
    let terms = step.terms(step.z(), step.y());
    let rows = terms.chunks_exact(step.chain.outputs());
    rows.map(|row| row.iter().sum::<f64>() * count(step.chain.batch())).collect()
}

fn mean_of_samples(step: &Step<'_>, of: impl Fn(f64) -> f64) -> f64 {
    samples(step).into_iter().map(of).sum::<f64>() / count(step.chain.batch())
}
