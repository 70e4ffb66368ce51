//! Formulas of `p` and of the loss with a step left out or exchanged.

use tensor::{Loss, TensorName};

use super::{Hypothesis, Pattern, Scene, hypothesis};
use crate::chain::count;
use crate::chain::output::loss as right_loss;
use crate::numeric::{largest, sigmoid};

/// A function of a row of the last `z` and of one of its elements.
type Output = (&'static str, fn(&[f64], f64) -> f64);

const OUTPUTS: [Output; 15] = [
    ("it is z itself: no function is applied", |_, z| z),
    ("it is softmax(z)", |row, z| quotient(row, z, f64::exp)),
    ("it is sigmoid(z)", |_, z| sigmoid(z)),
    ("it is 2^z / sum 2^z: exp2 in place of exp", |row, z| quotient(row, z, f64::exp2)),
    ("it is 1 / (1 + 2^-z): exp2 in place of exp", |_, z| 1.0 / (1.0 + (-z).exp2())),
    ("it is softmax(-z)", |row, z| quotient(row, z, |z| (-z).exp())),
    ("it is exp(z - max z): not divided by its sum", |row, z| (z - largest(row)).exp()),
    ("it is exp(z): not divided by its sum", |_, z| z.exp()),
    ("1 is added to the sum below exp(z)", |row, z| {
        z.exp() / (1.0 + row.iter().map(|z| z.exp()).sum::<f64>())
    }),
    ("1 is added to the sum below exp(z - max z)", |row, z| {
        let largest = largest(row);
        (z - largest).exp() / (1.0 + row.iter().map(|z| (z - largest).exp()).sum::<f64>())
    }),
    ("it is log softmax(z)", |row, z| quotient(row, z, f64::exp).ln()),
    ("it is sigmoid(-z)", |_, z| sigmoid(-z)),
    ("it is 1 + exp(-z): the reciprocal is left out", |_, z| 1.0 + (-z).exp()),
    ("it is 1 / (1 - exp(-z)): 1 and exp(-z) are subtracted", |_, z| 1.0 / (1.0 - (-z).exp())),
    ("it is 1 for the largest z of the row and 0 for the others", |row, z| {
        f64::from(u8::from(z == largest(row)))
    }),
];

/// A function of `z` over its sum.
fn quotient(row: &[f64], z: f64, of: fn(f64) -> f64) -> f64 {
    of(z) / row.iter().map(|&z| of(z)).sum::<f64>()
}

/// Functions of a row of the last `z` in the place of `p`.
pub(super) fn exchanged(scene: &Scene<'_>) -> Option<Pattern> {
    if scene.name != TensorName::P {
        return None;
    }
    let z = scene.chain.get(TensorName::Z(scene.chain.layers()))?;
    known(scene, z).or_else(|| quotients(scene, z)).or_else(|| scaled(scene, z))
}

fn known(scene: &Scene<'_>, z: &[f64]) -> Option<Pattern> {
    let (_, columns) = scene.rows_and_columns();
    let row = |i: usize| &z[i / columns * columns..][..columns];
    let known = OUTPUTS.map(|(text, of)| hypothesis(text, move |i| of(row(i), z[i])));
    let most = largest(z);
    // exp in float32, with and without subnormal numbers.
    let underflows = [0.0, f64::from(f32::MIN_POSITIVE)].map(|least| {
        let small = move |z: f64| {
            let single = f64::from((z - most).exp() as f32);
            if single < least { 0.0 } else { single }
        };
        let text =
            "the largest z of the whole batch is subtracted, not that of the row: exp underflows";
        hypothesis(text, move |i| small(z[i]) / row(i).iter().map(|&z| small(z)).sum::<f64>())
    });
    scene.first(known.into_iter().chain(underflows).collect())
}

/// Every quotient of a function of `z` and a sum of another one: of `exp`, `2^` or no function; with or without a
/// number subtracted first; and with a sum over the row, or over anything that may be taken for it.
fn quotients(scene: &Scene<'_>, z: &[f64]) -> Option<Pattern> {
    let (rows, columns) = scene.rows_and_columns();
    if rows * columns != z.len() || columns == 0 {
        return None;
    }
    let row = |r: usize| &z[r * columns..][..columns];
    type Function = (&'static str, fn(f64) -> f64);
    let functions: [Function; 3] = [("exp", f64::exp), ("2^", f64::exp2), ("", |z| z)];
    // The number that is subtracted, by row.
    let by_row = |of: &dyn Fn(usize) -> f64| -> Vec<f64> { (0..rows).map(of).collect() };
    let shifts = [
        ("(z)", vec![0.0; rows]),
        ("(z - max z)", by_row(&|r| largest(row(r)))),
        ("(z - max of the first row)", vec![largest(row(0)); rows]),
        ("(z - max of the batch)", vec![largest(z); rows]),
        ("(z - first z)", by_row(&|r| row(r)[0])),
    ];
    type Shifted<'a> = (String, fn(f64) -> f64, &'a [f64]);
    let shifted: Vec<Shifted<'_>> = functions
        .iter()
        .flat_map(|(name, of)| {
            shifts.iter().map(move |(shift, by)| (format!("{name}{shift}"), *of, &by[..]))
        })
        .collect();
    let mut sums: Vec<(String, Vec<f64>)> = Vec::new();
    for (name, of, shift) in &shifted {
        let sum = by_row(&|r| row(r).iter().map(|&z| of(z - shift[r])).sum());
        let of_other = |what: &str| format!("the sum {name} of the {what}");
        sums.push((of_other("whole batch"), vec![sum.iter().sum(); rows]));
        sums.push((of_other("first row"), vec![sum[0]; rows]));
        sums.push((of_other("last row"), vec![sum[rows - 1]; rows]));
        let above = by_row(&|r| if r == 0 { f64::NAN } else { sum[r - 1] });
        sums.push((of_other("row above"), above));
        sums.push((format!("sum {name}"), sum));
    }
    let mut family: Vec<Hypothesis<'_>> = Vec::new();
    for (name, of, shift) in &shifted {
        let above = |r: usize, at: usize| of(z[r * columns + at] - shift[r]);
        for (below, sum) in &sums {
            family.push(hypothesis(format!("it is {name} over {below}"), move |i| {
                above(i / columns, i % columns) / sum[i / columns]
            }));
        }
        let text = format!("it is {name} over its sum over the batch, not over the classes");
        family.push(hypothesis(text, move |i| {
            let sum: f64 = (0..rows).map(|r| above(r, i % columns)).sum();
            above(i / columns, i % columns) / sum
        }));
    }
    scene.first(family)
}

/// The function of a multiple of `z`.
fn scaled(scene: &Scene<'_>, z: &[f64]) -> Option<Pattern> {
    let (_, columns) = scene.rows_and_columns();
    let row = |i: usize| i / columns * columns..(i / columns + 1) * columns;
    let &first = scene.probes.first()?;
    // One element determines the factor; others have to confirm it.
    if scene.other_probes(first) < 3 {
        return None;
    }
    let p = scene.candidate;
    let distance = |at: &usize| (z[*at] - z[first]).abs();
    let other = row(first).max_by(|a, b| distance(a).total_cmp(&distance(b)))?;
    let factor = (p[first] / p[other]).ln() / (z[first] - z[other]);
    let softmax = hypothesis(format!("it is softmax of {factor:.6} times z"), move |i| {
        1.0 / row(i).map(|at| (factor * (z[at] - z[i])).exp()).sum::<f64>()
    });
    let factor = (p[first] / (1.0 - p[first])).ln() / z[first];
    let text = format!("it is sigmoid of {factor:.6} times z");
    scene.first(vec![softmax, hypothesis(text, move |i| sigmoid(factor * z[i]))])
}

/// Formulas that the loss may be mistaken for, and their values for these logits and labels.
pub(super) fn wrong_losses(loss: Loss, z: &[f64], y: &[f64], classes: usize) -> Vec<(String, f64)> {
    let samples = || z.chunks_exact(classes).zip(y.chunks_exact(classes));
    let batch = count(z.len() / classes.max(1));
    let mean = |of: &dyn Fn(&[f64], &[f64]) -> f64| -> f64 {
        samples().map(|(z, y)| of(z, y)).sum::<f64>() / batch
    };
    let each =
        |of: fn(f64, f64) -> f64| mean(&|z, y| z.iter().zip(y).map(|(&z, &y)| of(z, y)).sum());
    let mut values: Vec<(&str, f64)> = match loss {
        Loss::CrossEntropy => {
            let with = |log_sum: fn(&[f64]) -> f64| {
                mean(&|z, y| {
                    let all = log_sum(z);
                    z.iter().zip(y).map(|(z, y)| y * (all - z)).sum()
                })
            };
            vec![
                (
                    "log2 in place of ln, of the sum of exponentials",
                    with(|z| sum(z).log2() + largest(z)),
                ),
                (
                    "log10 in place of ln, of the sum of exponentials",
                    with(|z| sum(z).log10() + largest(z)),
                ),
                ("max z is not added back to the logarithm of the sum", with(|z| sum(z).ln())),
                ("only max z is left of the logarithm of the sum", with(largest)),
                ("the logarithm of the sum is not taken", with(|z| sum(z) + largest(z))),
                (
                    "z of the class is not subtracted",
                    mean(&|z, y| (sum(z).ln() + largest(z)) * y.iter().sum::<f64>()),
                ),
            ]
        }
        // max(z, 0) - z·y + ln(1 + exp(-|z|))
        Loss::Bce => BCE.map(|(text, of)| (text, each(of) / count(classes))).into(),
        Loss::SquaredError => vec![
            ("the difference is not squared", each(|z, y| 0.5 * (z - y))),
            ("the magnitude of the difference is not squared", each(|z, y| 0.5 * (z - y).abs())),
            ("y is added, not subtracted", each(|z, y| 0.5 * (z + y).powi(2))),
            ("y is left out", each(|z, _| 0.5 * z * z)),
        ],
    };
    let other =
        |loss: Loss| (format!("it is another loss: {loss}"), right_loss(loss, z, y, classes));
    let values = values.drain(..).map(|(text, value)| (text.to_owned(), value));
    values.chain(Loss::ALL.map(other)).collect()
}

/// The sum of exponentials as a kernel computes it, with the largest `z` subtracted.
fn sum(z: &[f64]) -> f64 {
    z.iter().map(|c| (c - largest(z)).exp()).sum()
}

fn log(z: f64) -> f64 {
    (-z.abs()).exp().ln_1p()
}

/// A term of binary cross-entropy, of a logit and its label.
type Term = (&'static str, fn(f64, f64) -> f64);

/// Wrong terms of binary cross-entropy.
const BCE: [Term; 8] = [
    ("the 1 + of ln(1 + exp(-|z|)) is left out", |z, y| z.max(0.0) - z * y - z.abs()),
    ("ln(1 + exp(-|z|)) is left out", |z, y| z.max(0.0) - z * y),
    ("the logarithm of 1 + exp(-|z|) is not taken", |z, y| {
        z.max(0.0) - z * y + 1.0 + (-z.abs()).exp()
    }),
    ("log2 in place of ln", |z, y| z.max(0.0) - z * y + log(z) / std::f64::consts::LN_2),
    ("max(z, 0) is left out", |z, y| log(z) - z * y),
    ("z·y is left out", |z, _| z.max(0.0) + log(z)),
    ("z·y is added, not subtracted", |z, y| z.max(0.0) + z * y + log(z)),
    ("the term of 1 - y is left out", |z, y| y * ((-z).max(0.0) + log(z))),
];
