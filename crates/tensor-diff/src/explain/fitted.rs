//! Hypotheses with an unknown number: one element determines the number, which has to reproduce all the others.

use tensor::{Loss, TensorName};

use super::numbers::{of_global_norm, plain};
use super::solve::{Equation, least_squares};
use super::{Hypothesis, Pattern, Scene, hypothesis};
use crate::chain::count;
use crate::chain::operation::updated_from;
use crate::numeric::extremes;

/// Predictions from one, two or three numbers for the whole tensor.
pub(super) fn one_number(scene: &Scene<'_>) -> Option<Pattern> {
    any_factor(scene)
        .or_else(|| constant(scene))
        .or_else(|| clipped(scene))
        .or_else(|| line(scene))
        .or_else(|| combination(scene))
}

/// Any factor.
fn any_factor(scene: &Scene<'_>) -> Option<Pattern> {
    let &first = scene.probes.first()?;
    let factor = scene.candidate[first] / scene.expected[first];
    if scene.other_probes(first) < 3 || !factor.is_finite() {
        return None;
    }
    let is_gradient = matches!(scene.name, TensorName::Dw(_) | TensorName::Db(_));
    let clipped = of_global_norm(scene.chain, factor).filter(|_| is_gradient);
    let clipped = clipped.map_or_else(String::new, |how| format!(", {how}"));
    let text = format!("every element is {factor:.6} times what it should be{clipped}");
    scene.first(vec![hypothesis(text, move |i| factor * scene.expected[i])])
}

/// All elements are the same number.
fn constant(scene: &Scene<'_>) -> Option<Pattern> {
    let constant = scene.candidate[*scene.probes.first()?];
    if scene.probes.len() < 3 || !constant.is_finite() {
        return None;
    }
    let text = format!("every element is {}", plain(constant));
    scene.first(vec![hypothesis(text, move |_| constant)])
}

/// An upper limit, a lower limit, or both.
fn clipped(scene: &Scene<'_>) -> Option<Pattern> {
    let known = scene.wrong.iter().filter(|&&i| !scene.candidate[i].is_nan());
    let (reduced, raised): (Vec<usize>, Vec<usize>) =
        known.partition(|&&i| scene.candidate[i] < scene.expected[i]);
    let held = |wrong: &[usize]| extremes(wrong.iter().map(|&i| scene.candidate[i]));
    let (high, low) = (held(&reduced).0, held(&raised).1);
    if reduced.len() + raised.len() < 3 || low >= high {
        return None;
    }
    // Values between the limits stay as they are; without any, the tensor is a constant.
    let between = |i: &usize| {
        let (expected, off) = (scene.expected[*i], scene.tolerance(*i, scene.expected[*i]));
        expected - low > off && high - expected > off && scene.fits(*i, expected)
    };
    if (0..scene.candidate.len()).filter(between).count() < 3 {
        return None;
    }
    let text = match (low.is_finite(), high.is_finite()) {
        (true, true) => format!("it is clipped: nothing is above {high:.6} or below {low:.6}"),
        (true, false) => format!("it is clipped: nothing is below {low:.6}"),
        _ => format!("it is clipped: nothing is above {high:.6}"),
    };
    scene.first(vec![hypothesis(text, move |i| scene.expected[i].min(high).max(low))])
}

/// A straight line in the place of a function of `z`.
fn line(scene: &Scene<'_>) -> Option<Pattern> {
    let z = scene.chain.get(match scene.name {
        TensorName::A(layer) => TensorName::Z(layer),
        TensorName::P => TensorName::Z(scene.chain.layers()),
        _ => return None,
    })?;
    let (slope, start) = scene.line(&scene.probes, z).filter(|_| scene.probes.len() >= 4)?;
    let text = format!("it is a straight line: {slope:.6} times z + {start:.6}");
    scene.first(vec![hypothesis(text, move |i| slope * z[i] + start)])
}

/// `α·p + β·y + γ` in the place of `p − y`, and the same for an update.
fn combination(scene: &Scene<'_>) -> Option<Pattern> {
    let (names, scale) = match scene.name {
        TensorName::Dz(layer) if layer == scene.chain.layers() => {
            ((TensorName::P, TensorName::Y), 1.0 / count(scene.chain.batch()))
        }
        name => (updated_from(name)?, 1.0),
    };
    let (one, other) = (scene.chain.get(names.0)?, scene.chain.get(names.1)?);
    // Half of the elements determine the numbers, and the other half has to confirm them.
    let half = scene.wrong.iter().step_by(2).take(500);
    let equations: Vec<Equation> = half
        .map(|&i| Equation {
            factors: vec![one[i] * scale, other[i] * scale, scale],
            result: scene.candidate[i],
        })
        .collect();
    if equations.len() < 6 {
        return None;
    }
    let found = least_squares(&equations)?;
    let (alpha, beta, gamma) = (found[0], found[1], found[2]);
    let rest = if gamma.abs() < 1e-6 { String::new() } else { format!(" + {gamma:.6}") };
    let over = if scale == 1.0 { "" } else { ", over B" };
    let text =
        format!("it is {alpha:.6} times {} + {beta:.6} times {}{rest}{over}", names.0, names.1);
    scene.first(vec![hypothesis(text, move |i| scale * (alpha * one[i] + beta * other[i] + gamma))])
}

/// A factor or a summand for each row, or for each column: for example, a wrong divisor of each row, or a wrong bias
/// of each column.
pub(super) fn of_rows_and_columns(scene: &Scene<'_>) -> Option<Pattern> {
    let &[rows, columns] = scene.shape else { return None };
    let mut family: Vec<Hypothesis<'_>> = Vec::new();
    for (what, groups) in [("row", rows), ("column", columns)] {
        let group = move |i: usize| if what == "row" { i / columns } else { i % columns };
        // The element of each group that is the farthest off, and the number of wrong elements in it.
        let mut farthest: Vec<Option<usize>> = vec![None; groups];
        let mut wrong = vec![0_usize; groups];
        let off = |i: usize| (scene.candidate[i] - scene.expected[i]).abs();
        for &i in scene.wrong.iter().filter(|&&i| scene.candidate[i].is_finite()) {
            wrong[group(i)] += 1;
            let so_far = &mut farthest[group(i)];
            if so_far.is_none_or(|other| off(other) < off(i)) {
                *so_far = Some(i);
            }
        }
        // A group has to confirm its number with two more elements.
        if wrong.iter().any(|&wrong| wrong == 1 || wrong == 2) {
            continue;
        }
        let fitted = |how: fn(f64, f64) -> f64| -> (Vec<f64>, f64, f64) {
            let number = |i: usize| how(scene.candidate[i], scene.expected[i]);
            let all: Vec<f64> = farthest.iter().map(|i| i.map_or(f64::NAN, number)).collect();
            let (least, most) = extremes(all.iter().copied().filter(|x| x.is_finite()));
            (all, least, most)
        };
        let (factors, least, most) = fitted(|c, e| c / e);
        let sums = if what == "row" { sums(scene, columns) } else { String::new() };
        let text =
            format!("each {what} has a different factor, from {least:.6} to {most:.6}{sums}");
        family.push(hypothesis(text, move |i| factors[group(i)] * scene.expected[i]));
        let (more, least, most) = fitted(|c, e| c - e);
        let text =
            format!("a different number is added to each {what}, from {least:.6} to {most:.6}");
        family.push(hypothesis(text, move |i| more[group(i)] + scene.expected[i]));
    }
    scene.first(family)
}

/// The sums of the rows of `p`, if they should be 1.
fn sums(scene: &Scene<'_>, columns: usize) -> String {
    if scene.name != TensorName::P || scene.chain.losses() != [Loss::CrossEntropy] {
        return String::new();
    }
    let (least, most) = extremes(scene.candidate.chunks_exact(columns).map(|row| row.iter().sum()));
    format!(": rows sum to {least:.6} to {most:.6}, not to 1, so their divisors are wrong")
}
