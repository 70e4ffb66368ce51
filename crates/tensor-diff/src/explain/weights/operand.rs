//! Sums of which an operand is shifted by a number, or multiplied once more by another tensor.

use super::super::Pattern;
use super::super::Scene;
use super::super::formula::Sum;
use super::super::index::Operand;
use super::super::numbers::number;
use super::super::solve::{Equation, least_squares};

/// This many elements say how far an operand is shifted.
const EQUATIONS: usize = 60;

pub(super) fn altered(scene: &Scene<'_>, sum: &Sum<'_>) -> Option<Pattern> {
    shifted(scene, sum).or_else(|| multiplied(scene, sum))
}

/// `Σ α·(a + c)·(b + d)`: the sums of the products, of each factor alone, and how many terms there are.
fn shifted(scene: &Scene<'_>, sum: &Sum<'_>) -> Option<Pattern> {
    let (left, right) = (sum.names[0]?, sum.names[1]?);
    let sums = |i: usize| -> [f64; 4] {
        let terms =
            (0..sum.length).map(|k| (sum.factor(&sum.left, i, k), sum.factor(&sum.right, i, k)));
        let mut all = [0.0, 0.0, 0.0, sum.length as f64];
        for (a, b) in terms {
            all[0] += a * b;
            all[1] += b;
            all[2] += a;
        }
        all
    };
    let known: Vec<usize> =
        scene.wrong.iter().copied().filter(|&i| scene.candidate[i].is_finite()).collect();
    let step = known.len().div_ceil(EQUATIONS).max(1);
    let equations: Vec<(usize, [f64; 4])> =
        known.iter().step_by(step).map(|&i| (i, sums(i))).collect();
    // With one factor shifted, with the other, or with both.
    for chosen in [&[0, 1][..], &[0, 2], &[0, 3], &[0, 1, 2], &[0, 1, 2, 3]] {
        if equations.len() < chosen.len() + 4 || !scene.tells_after(5, chosen.len()) {
            continue;
        }
        let rows: Vec<Equation> = equations
            .iter()
            .map(|(i, sums)| {
                let weight = 1.0 / scene.tolerance(*i, scene.expected[*i]).max(f64::MIN_POSITIVE);
                Equation {
                    factors: chosen.iter().map(|&at| weight * sums[at]).collect(),
                    result: weight * (scene.candidate[*i] - sum.base_of(*i)),
                }
            })
            .collect();
        let Some(factors) = least_squares(&rows) else { continue };
        let made = |i: usize| {
            let sums = sums(i);
            let own: f64 = chosen.iter().zip(&factors).map(|(&at, factor)| factor * sums[at]).sum();
            sum.base_of(i) + own
        };
        let words = || {
            let mut parts = Vec::new();
            if (factors[0] - 1.0).abs() > 1e-4 {
                parts.push(format!(
                    "the product is {} times what it should be",
                    number(scene, factors[0])
                ));
            }
            // What rounding leaves of a shift that isn't there is not told.
            let told = |factor: f64| (factor / factors[0]).abs() > 1e-5;
            for (&at, &factor) in chosen.iter().zip(&factors).skip(1).filter(|(_, f)| told(**f)) {
                let more = number(scene, factor / factors[0]);
                match at {
                    1 => parts.push(format!("{more} is added to each {left} first")),
                    2 => parts.push(format!("{more} is added to each {right} first")),
                    _ => parts.push(format!("{more} is added to each term")),
                }
            }
            parts.join(", and ")
        };
        let found = scene.try_numbers(made, words);
        if found.is_some() {
            return found;
        }
    }
    None
}

/// Each term multiplied once more, by a tensor of an operand's shape, or by one number of each term, each
/// row or each column.
fn multiplied(scene: &Scene<'_>, sum: &Sum<'_>) -> Option<Pattern> {
    let tensors = scene.tensors();
    if !scene.tells_after(10 * tensors.len(), 1) {
        return None;
    }
    let &first = scene.probes.iter().find(|&&i| scene.candidate[i].is_finite())?;
    for (text, _, _, values) in &tensors {
        let like = |view: &Operand<'_>| {
            (values.len() == view.values.len()).then(|| Operand { values, ..view.clone() })
        };
        for view in [like(&sum.left), like(&sum.right)].into_iter().flatten() {
            let total = |i: usize| -> f64 {
                (0..sum.length).map(|k| sum.factor(&view, i, k) * sum.term(i, k)).sum()
            };
            let found = scaled(scene, sum, first, total, || {
                format!("each term is multiplied by {text}, too")
            });
            if found.is_some() {
                return found;
            }
        }
        if values.len() == sum.length && sum.length > 1 {
            let total =
                |i: usize| -> f64 { (0..sum.length).map(|k| values[k] * sum.term(i, k)).sum() };
            let found = scaled(scene, sum, first, total, || {
                format!("each term is multiplied by its element of {text}, too")
            });
            if found.is_some() {
                return found;
            }
        }
    }
    None
}

fn scaled(
    scene: &Scene<'_>,
    sum: &Sum<'_>,
    first: usize,
    total: impl Fn(usize) -> f64,
    words: impl Fn() -> String,
) -> Option<Pattern> {
    let factor = (scene.candidate[first] - sum.base_of(first)) / total(first);
    let factor = if (factor - 1.0).abs() < 1e-4 { 1.0 } else { factor };
    if !factor.is_finite() || factor == 0.0 {
        return None;
    }
    scene.try_numbers(
        |i| sum.base_of(i) + factor * total(i),
        || match factor {
            1.0 => words(),
            _ => format!("{}, and the sum is {} times as large", words(), number(scene, factor)),
        },
    )
}
