//! What a loss may be made of.

use tensor::TensorName;

use super::{Formula, Step};
use crate::chain::count;

/// Numbers that a loss may be made of; what it should be is the first.
pub(super) fn things(layers: usize) -> Vec<(String, Formula<'static>)> {
    let mut all: Vec<(String, Formula<'static>)> = Vec::new();
    let mut push = |text: &str, of: Formula<'static>| all.push((text.to_owned(), of));
    push("what it should be", Box::new(|step| step.expected));
    push("1", Box::new(|_| 1.0));
    push("its square", Box::new(|step| step.expected * step.expected));
    push("its logarithm", Box::new(|step| step.expected.ln()));
    push("its exponential", Box::new(|step| step.expected.exp()));
    push("its root", Box::new(|step| step.expected.sqrt()));
    push("1 over the batch", Box::new(|step| 1.0 / count(step.chain.batch())));
    push("the sum over the batch", Box::new(|step| step.expected * count(step.chain.batch())));
    push(
        "the sum of the samples' losses, squared",
        Box::new(|step| of_samples(step, |loss| loss * loss)),
    );
    push("the roots of the samples' losses", Box::new(|step| of_samples(step, f64::sqrt)));
    push("the magnitudes of the samples' losses", Box::new(|step| of_samples(step, f64::abs)));
    push(
        "the largest of the samples' losses",
        Box::new(|step| samples(step).into_iter().fold(f64::NEG_INFINITY, f64::max)),
    );
    push(
        "the smallest of the samples' losses",
        Box::new(|step| samples(step).into_iter().fold(f64::INFINITY, f64::min)),
    );
    type OfRow = fn(&[f64], &[f64]) -> f64;
    let of_rows: [(&str, OfRow); 16] = [
        ("the mean of ln sum exp(z)", |z, _| log_sum(z)),
        ("the mean of max z", |z, _| z.iter().copied().fold(f64::NEG_INFINITY, f64::max)),
        ("the mean of z of the class", |z, y| z.iter().zip(y).map(|(z, y)| z * y).sum()),
        ("the mean over samples of the sum of z", |z, _| z.iter().sum()),
        ("the mean over samples of the sum of z²", |z, _| z.iter().map(|z| z * z).sum()),
        ("the mean over samples of the sum of |z|", |z, _| z.iter().map(|z| z.abs()).sum()),
        ("the mean of p of the class", |z, y| class(z, y)),
        ("the mean of 1 - p of the class", |z, y| 1.0 - class(z, y)),
        ("the mean of (1 - p) times the loss", |z, y| -(1.0 - class(z, y)) * class(z, y).ln()),
        ("the mean of (1 - p)² times the loss", |z, y| {
            -(1.0 - class(z, y)).powi(2) * class(z, y).ln()
        }),
        ("the mean of p times the loss", |z, y| -class(z, y) * class(z, y).ln()),
        ("the mean of the classes' entropy", |z, _| {
            z.iter()
                .map(|c| {
                    let log = c - log_sum(z);
                    -log.exp() * log
                })
                .sum()
        }),
        ("the sum of -ln p over all classes", |z, _| z.iter().map(|c| log_sum(z) - c).sum()),
        ("the sum of -ln p over the other classes", |z, y| {
            z.iter().zip(y).map(|(c, y)| (1.0 - y) * (log_sum(z) - c)).sum()
        }),
        ("the sum of (p - y)²", |z, y| {
            z.iter().zip(y).map(|(c, y)| ((c - log_sum(z)).exp() - y).powi(2)).sum()
        }),
        ("the sum of -ln(1 - p) over the other classes", |z, y| {
            z.iter().zip(y).map(|(c, y)| -(1.0 - y) * (1.0 - (c - log_sum(z)).exp()).ln()).sum()
        }),
    ];
    for (text, of) in of_rows {
        push(
            text,
            Box::new(move |step| {
                let classes = step.chain.outputs();
                let rows = step.z().chunks_exact(classes).zip(step.y().chunks_exact(classes));
                rows.map(|(z, y)| of(z, y)).sum::<f64>() / count(step.chain.batch())
            }),
        );
    }
    type OfElement = fn(f64, f64) -> f64;
    let of_elements: [(&str, OfElement); 12] = [
        ("max(z, 0)", |z, _| z.max(0.0)),
        ("z·y", |z, y| z * y),
        ("ln(1 + exp(-|z|))", |z, _| (-z.abs()).exp().ln_1p()),
        ("exp(-|z|)", |z, _| (-z.abs()).exp()),
        ("|z|", |z, _| z.abs()),
        ("z", |z, _| z),
        ("(z - y)²", |z, y| (z - y) * (z - y)),
        ("|z - y|", |z, y| (z - y).abs()),
        ("(z - y)⁴", |z, y| (z - y).powi(4)),
        ("y·ln(1 + exp(-z))", |z, y| y * ((-z).max(0.0) + (-z.abs()).exp().ln_1p())),
        ("(1 - y)·ln(1 + exp(z))", |z, y| (1.0 - y) * (z.max(0.0) + (-z.abs()).exp().ln_1p())),
        ("(sigmoid(z) - y)²", |z, y| (1.0 / (1.0 + (-z).exp()) - y).powi(2)),
    ];
    for (text, of) in of_elements {
        push(
            &format!("the mean of {text}, summed as the loss is"),
            Box::new(move |step| {
                let elements = step.z().iter().zip(step.y());
                elements.map(|(&z, &y)| of(z, y)).sum::<f64>() / step.divisor()
            }),
        );
    }
    for layer in 1..=layers {
        for name in [TensorName::W(layer), TensorName::B(layer)] {
            push(
                &format!("the sum of {name}²"),
                Box::new(move |step| {
                    step.chain.get(name).map_or(f64::NAN, |w| w.iter().map(|w| w * w).sum())
                }),
            );
            push(
                &format!("the sum of |{name}|"),
                Box::new(move |step| {
                    step.chain.get(name).map_or(f64::NAN, |w| w.iter().map(|w| w.abs()).sum())
                }),
            );
        }
    }
    push(
        "the loss of the step before",
        Box::new(|step| {
            let before = step.before.and_then(|before| before.get(TensorName::Loss));
            before.and_then(|loss| loss.data.first().copied()).unwrap_or(f64::NAN)
        }),
    );
    all
}

fn log_sum(z: &[f64]) -> f64 {
    let largest = z.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    largest + z.iter().map(|z| (z - largest).exp()).sum::<f64>().ln()
}

/// Softmax's `p` of the sample's class.
fn class(z: &[f64], y: &[f64]) -> f64 {
    let own: f64 = z.iter().zip(y).map(|(z, y)| z * y).sum();
    (own - log_sum(z)).exp()
}

/// The loss of each sample.
fn samples(step: &Step<'_>) -> Vec<f64> {
    let terms = step.terms(step.z(), step.y());
    let rows = terms.chunks_exact(step.chain.outputs());
    rows.map(|row| row.iter().sum::<f64>() * count(step.chain.batch())).collect()
}

fn of_samples(step: &Step<'_>, of: impl Fn(f64) -> f64) -> f64 {
    samples(step).into_iter().map(of).sum::<f64>() / count(step.chain.batch())
}
