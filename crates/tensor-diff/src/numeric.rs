//! Small numerical functions that several passes share.

/// The largest number; minus infinity of an empty slice.
pub(crate) fn largest(values: &[f64]) -> f64 {
    values.iter().copied().fold(f64::NEG_INFINITY, f64::max)
}

/// The largest magnitude; 0 if there are no numbers.
pub(crate) fn largest_magnitude(values: &[f64]) -> f64 {
    values.iter().fold(0.0, |all, value| all.max(value.abs()))
}

/// The smallest and the largest number.
pub(crate) fn extremes(values: impl IntoIterator<Item = f64>) -> (f64, f64) {
    let none = (f64::INFINITY, f64::NEG_INFINITY);
    values.into_iter().fold(none, |(low, high), value| (low.min(value), high.max(value)))
}

/// The numbers in ascending order, each once.
pub(crate) fn unique(values: impl IntoIterator<Item = usize>) -> Vec<usize> {
    let mut values: Vec<usize> = values.into_iter().collect();
    values.sort_unstable();
    values.dedup();
    values
}

/// The sums of the first 0, 1, 2... terms.
pub(crate) fn prefix_sums(terms: impl IntoIterator<Item = f64>) -> Vec<f64> {
    let mut sums = vec![0.0];
    let mut total = 0.0;
    sums.extend(terms.into_iter().map(|term| {
        total += term;
        total
    }));
    sums
}

/// The Euclidean norm.
pub(crate) fn norm(values: &[f64]) -> f64 {
    values.iter().map(|x| x * x).sum::<f64>().sqrt()
}

/// The sign of a number: -1, 0 or 1.
pub(crate) fn sign(x: f64) -> f64 {
    if x == 0.0 { 0.0 } else { x.signum() }
}

/// `ln Σ exp(z)`
pub(crate) fn log_sum_exp(z: &[f64]) -> f64 {
    let largest = largest(z);
    largest + z.iter().map(|z| (z - largest).exp()).sum::<f64>().ln()
}

/// `exp(z) / Σ exp(z)`
pub(crate) fn softmax(z: &[f64]) -> Vec<f64> {
    let largest = largest(z);
    let sum: f64 = z.iter().map(|z| (z - largest).exp()).sum();
    z.iter().map(|z| (z - largest).exp() / sum).collect()
}

/// `1 / (1 + exp(-z))`
pub(crate) fn sigmoid(z: f64) -> f64 {
    if z >= 0.0 { 1.0 / (1.0 + (-z).exp()) } else { z.exp() / (1.0 + z.exp()) }
}

/// `ln(1 + exp(z))`
pub(crate) fn softplus(z: f64) -> f64 {
    z.max(0.0) + (-z.abs()).exp().ln_1p()
}
