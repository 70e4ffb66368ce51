//! What stands where `p` or the loss should: their formulas with a step left out or exchanged.

use tensor::{Loss, TensorName};

use super::Pattern;
use super::{Hypothesis, Scene, hypothesis};

/// A function of one number.
type Function = fn(f64) -> f64;

fn largest(row: &[f64]) -> f64 {
    row.iter().copied().fold(f64::NEG_INFINITY, f64::max)
}

/// Functions of a row of the last `z` that stand where `p` should.
pub(super) fn output(scene: &Scene<'_>) -> Option<Pattern> {
    usual(scene).or_else(|| quotients(scene)).or_else(|| scaled(scene))
}

fn usual(scene: &Scene<'_>) -> Option<Pattern> {
    let z = scene.chain.get(TensorName::Z(scene.chain.layers()))?;
    let (_, columns) = scene.rows_and_columns();
    let row = move |i: usize| &z[i / columns * columns..][..columns];
    let over = move |i: usize, power: fn(f64) -> f64| {
        power(z[i]) / row(i).iter().map(|&z| power(z)).sum::<f64>()
    };
    let mut family = vec![
        hypothesis("it is z itself: no function is applied", move |i| z[i]),
        hypothesis("it is softmax(z)", move |i| over(i, f64::exp)),
        hypothesis("it is sigmoid(z)", move |i| 1.0 / (1.0 + (-z[i]).exp())),
        hypothesis("it is 2^z / sum 2^z: exp2 in place of exp", move |i| over(i, f64::exp2)),
        hypothesis("it is 1 / (1 + 2^-z): exp2 in place of exp", move |i| {
            1.0 / (1.0 + (-z[i]).exp2())
        }),
        hypothesis("it is softmax(-z)", move |i| over(i, |z| (-z).exp())),
        hypothesis("it is exp(z - max z): not divided by its sum", move |i| {
            (z[i] - largest(row(i))).exp()
        }),
        hypothesis("it is exp(z): not divided by its sum", move |i| z[i].exp()),
        hypothesis("1 is added to the sum below exp(z)", move |i| {
            z[i].exp() / (1.0 + row(i).iter().map(|z| z.exp()).sum::<f64>())
        }),
        hypothesis("1 is added to the sum below exp(z - max z)", move |i| {
            let largest = largest(row(i));
            let sum = row(i).iter().map(|z| (z - largest).exp()).sum::<f64>();
            (z[i] - largest).exp() / (1.0 + sum)
        }),
        hypothesis("it is log softmax(z)", move |i| over(i, f64::exp).ln()),
        hypothesis("it is sigmoid(-z)", move |i| 1.0 / (1.0 + z[i].exp())),
        hypothesis("it is 1 + exp(-z): the reciprocal is left out", move |i| 1.0 + (-z[i]).exp()),
        hypothesis("it is 1 / (1 - exp(-z)): 1 and exp(-z) are subtracted", move |i| {
            1.0 / (1.0 - (-z[i]).exp())
        }),
        hypothesis("it is 1 / (1 - z): exp is left out", move |i| 1.0 / (1.0 - z[i])),
        hypothesis("it is exp(-z)", move |i| (-z[i]).exp()),
        hypothesis("it is 1 for the largest z of the row and 0 for the others", move |i| {
            f64::from(u8::from(z[i] == largest(row(i))))
        }),
        hypothesis("it is tanh(z)", move |i| z[i].tanh()),
    ];
    let above = move |i: usize| i.checked_sub(columns).map_or(f64::NAN, |i| over(i, f64::exp));
    family.push(hypothesis("it is softmax of the row above", above));
    let below =
        move |i: usize| if i + columns < z.len() { over(i + columns, f64::exp) } else { f64::NAN };
    family.push(hypothesis("it is softmax of the row below", below));
    let most = largest(z);
    // exp in float32, with and without subnormal numbers.
    for least in [0.0, f64::from(f32::MIN_POSITIVE)] {
        let small = move |z: f64| {
            let single = f64::from((z - most).exp() as f32);
            if single < least { 0.0 } else { single }
        };
        let text =
            "the largest z of the whole batch is subtracted, not that of the row: exp underflows";
        family.push(hypothesis(text, move |i| {
            small(z[i]) / row(i).iter().map(|&z| small(z)).sum::<f64>()
        }));
    }
    scene.first(family)
}

/// Every quotient of a function of `z` and a sum of another one: what is exponentiated, what is
/// subtracted first, and what is summed over, above and below.
fn quotients(scene: &Scene<'_>) -> Option<Pattern> {
    let z = scene.chain.get(TensorName::Z(scene.chain.layers()))?;
    let (rows, columns) = scene.rows_and_columns();
    if rows * columns != z.len() || columns == 0 {
        return None;
    }
    let row = move |r: usize| &z[r * columns..][..columns];
    let functions: [(&str, Function); 3] = [("exp", f64::exp), ("2^", f64::exp2), ("", |z| z)];
    // What is subtracted, by row.
    let shifts: Vec<(&str, Vec<f64>)> = vec![
        ("(z)", vec![0.0; rows]),
        ("(z - max z)", (0..rows).map(|r| largest(row(r))).collect()),
        ("(z - max of the first row)", vec![largest(row(0)); rows]),
        ("(z - max of the batch)", vec![largest(z); rows]),
        ("(z - first z)", (0..rows).map(|r| row(r)[0]).collect()),
    ];
    // Sums over each row, and over what may be taken for it.
    let mut sums: Vec<(String, Vec<f64>)> = Vec::new();
    for (name, function) in functions {
        for (of, shift) in &shifts {
            let sum: Vec<f64> =
                (0..rows).map(|r| row(r).iter().map(|&z| function(z - shift[r])).sum()).collect();
            sums.push((format!("sum {name}{of}"), sum.clone()));
            let all: f64 = sum.iter().sum();
            sums.push((format!("the sum {name}{of} of the whole batch"), vec![all; rows]));
            sums.push((format!("the sum {name}{of} of the first row"), vec![sum[0]; rows]));
            sums.push((format!("the sum {name}{of} of the last row"), vec![sum[rows - 1]; rows]));
            let above = |r: usize| if r == 0 { f64::NAN } else { sum[r - 1] };
            sums.push((
                format!("the sum {name}{of} of the row above"),
                (0..rows).map(above).collect(),
            ));
        }
    }
    let mut family: Vec<Hypothesis<'_>> = Vec::new();
    for (name, function) in functions {
        for (of, shift) in &shifts {
            for (below, sum) in &sums {
                family.push(hypothesis(format!("it is {name}{of} over {below}"), move |i| {
                    function(z[i] - shift[i / columns]) / sum[i / columns]
                }));
            }
            let shift = shift.clone();
            let text =
                format!("it is {name}{of} over its sum over the batch, not over the classes");
            family.push(hypothesis(text, move |i| {
                let at = |r: usize| function(z[r * columns + i % columns] - shift[r]);
                at(i / columns) / (0..rows).map(at).sum::<f64>()
            }));
        }
    }
    scene.first(family)
}

/// The function of a multiple of `z`.
fn scaled(scene: &Scene<'_>) -> Option<Pattern> {
    let z = scene.chain.get(TensorName::Z(scene.chain.layers()))?;
    let (_, columns) = scene.rows_and_columns();
    let row = move |i: usize| i / columns * columns..i / columns * columns + columns;
    let &first = scene.probes.first()?;
    // The factor is made of one element; others have to confirm it.
    if scene.probes.iter().filter(|&&i| i != first).count() < 3 {
        return None;
    }
    let p = scene.candidate;
    let mut family: Vec<Hypothesis<'_>> = Vec::new();
    if let Some(other) =
        row(first).max_by(|&a, &b| (z[a] - z[first]).abs().total_cmp(&(z[b] - z[first]).abs()))
    {
        let factor = (p[first] / p[other]).ln() / (z[first] - z[other]);
        family.push(hypothesis(format!("it is softmax of {factor:.6} times z"), move |i| {
            let sum = row(i).map(|at| (factor * (z[at] - z[i])).exp()).sum::<f64>();
            1.0 / sum
        }));
    }
    let factor = (p[first] / (1.0 - p[first])).ln() / z[first];
    family.push(hypothesis(format!("it is sigmoid of {factor:.6} times z"), move |i| {
        1.0 / (1.0 + (-factor * z[i]).exp())
    }));
    scene.first(family)
}

/// The loss with a step of its formula left out or exchanged.
pub(super) fn loss(scene: &Scene<'_>) -> Option<Pattern> {
    let z = scene.chain.get(TensorName::Z(scene.chain.layers()))?;
    let y = scene.chain.get(TensorName::Y)?;
    let &[loss] = &scene.chain.losses()[..] else { return None };
    let values = losses(loss, z, y, scene.chain.outputs());
    let family = values.into_iter().map(|(text, value)| hypothesis(text, move |_| value));
    scene.first(family.collect())
}

/// The formulas that a loss may be mistaken for, and what they make of these logits and labels.
pub(super) fn losses(loss: Loss, z: &[f64], y: &[f64], classes: usize) -> Vec<(String, f64)> {
    let batch = (z.len() / classes.max(1)) as f64;
    let mean = |of: &dyn Fn(&[f64], &[f64]) -> f64| -> f64 {
        let samples = z.chunks_exact(classes).zip(y.chunks_exact(classes));
        samples.map(|(z, y)| of(z, y)).sum::<f64>() / batch
    };
    let mut values: Vec<(String, f64)> = Vec::new();
    let mut push = |text: &str, value: f64| values.push((text.to_owned(), value));
    match loss {
        Loss::CrossEntropy => {
            let of = |log_sum: &dyn Fn(&[f64]) -> f64| {
                mean(&|z, y| {
                    let all = log_sum(z);
                    z.iter().zip(y).map(|(z, y)| y * (all - z)).sum()
                })
            };
            // The sum as a kernel makes it, less the largest.
            let sum = |z: &[f64]| z.iter().map(|c| (c - largest(z)).exp()).sum::<f64>();
            push(
                "log2 in place of ln, of the sum of exponentials",
                of(&|z| sum(z).log2() + largest(z)),
            );
            push(
                "log10 in place of ln, of the sum of exponentials",
                of(&|z| sum(z).log10() + largest(z)),
            );
            push("max z is not added back to the logarithm of the sum", of(&|z| sum(z).ln()));
            push("the logarithm of the sum is left out, but for max z", of(&largest));
            push("the logarithm of the sum is not taken", of(&|z| sum(z) + largest(z)));
            push(
                "z of the class is not subtracted",
                mean(&|z, y| (sum(z).ln() + largest(z)) * y.iter().sum::<f64>()),
            );
        }
        Loss::Bce => {
            // max(z, 0) - z·y + ln(1 + e^-|z|)
            let of = |term: &dyn Fn(f64, f64) -> f64| {
                mean(&|z, y| z.iter().zip(y).map(|(&z, &y)| term(z, y)).sum()) / classes as f64
            };
            let log = |z: f64| (-z.abs()).exp().ln_1p();
            push(
                "the 1 + of ln(1 + exp(-|z|)) is left out",
                of(&|z, y| z.max(0.0) - z * y - z.abs()),
            );
            push("ln(1 + exp(-|z|)) is left out", of(&|z, y| z.max(0.0) - z * y));
            push(
                "the logarithm of 1 + exp(-|z|) is not taken",
                of(&|z, y| z.max(0.0) - z * y + 1.0 + (-z.abs()).exp()),
            );
            push(
                "log2 in place of ln",
                of(&|z, y| z.max(0.0) - z * y + log(z) / std::f64::consts::LN_2),
            );
            push("max(z, 0) is left out", of(&|z, y| log(z) - z * y));
            push("z·y is left out", of(&|z, _| z.max(0.0) + log(z)));
            push("z·y is added, not subtracted", of(&|z, y| z.max(0.0) + z * y + log(z)));
            push(
                "only what is 1 counts: the term of 1 - y is left out",
                of(&|z, y| y * ((-z).max(0.0) + log(z))),
            );
        }
        Loss::SquaredError => {
            let of = |term: &dyn Fn(f64, f64) -> f64| {
                mean(&|z, y| z.iter().zip(y).map(|(&z, &y)| 0.5 * term(z, y)).sum())
            };
            push("the difference is not squared", of(&|z, y| z - y));
            push("the magnitude of the difference is not squared", of(&|z, y| (z - y).abs()));
            push("y is added, not subtracted", of(&|z, y| (z + y).powi(2)));
            push("y is left out", of(&|z, _| z * z));
        }
    }
    for loss in Loss::ALL {
        push(
            &format!("it is another loss: {loss}"),
            crate::chain::output::loss(loss, z, y, classes),
        );
    }
    values
}
