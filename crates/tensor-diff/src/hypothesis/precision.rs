//! Operands, or results, that have fewer digits than they should.

use super::sum::{Sum, View};
use super::{Hypothesis, Scene, hypothesis};
use crate::pattern::{Pattern, PatternKind};

/// A number format: what it is called, the digits behind the point, and the least exponent.
type Format = (&'static str, i32, i32);

/// Formats that products are made in; see NVIDIA's PTX ISA, "Alternate floating point data formats".
const FORMATS: [Format; 3] = [("half", 10, -14), ("bfloat16", 7, -126), ("TF32", 10, -126)];

/// The number, rounded to the nearest of the format, or cut.
fn shortened(value: f64, (_, digits, least): Format, cut: bool) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return value;
    }
    let exponent = (value.abs().log2().floor() as i32).max(least);
    let quantum = f64::from(exponent - digits).exp2();
    let steps = value / quantum;
    quantum * if cut { steps.trunc() } else { steps.round_ties_even() }
}

pub(super) fn rounded(scene: &Scene<'_>) -> Option<Pattern> {
    operands(scene).or_else(|| result(scene))
}

fn operands(scene: &Scene<'_>) -> Option<Pattern> {
    let sum = &Sum::of(scene)?;
    let (Some(left), right) = (sum.names[0], sum.names[1]) else { return None };
    let mut shortened_operands = Vec::new();
    for format in FORMATS {
        for cut in [false, true] {
            let all = |view: &View<'_>| -> Vec<f64> {
                view.values.iter().map(|&value| shortened(value, format, cut)).collect()
            };
            let how = format!("{} to {}", if cut { "cut" } else { "rounded" }, format.0);
            shortened_operands.push((how, all(&sum.left), all(&sum.right)));
        }
    }
    let mut family: Vec<Hypothesis<'_>> = Vec::new();
    for (how, lefts, rights) in &shortened_operands {
        let short_left = || View { values: lefts, ..sum.left.clone() };
        let short_right = || View { values: rights, ..sum.right.clone() };
        let one = short_left();
        family.push(hypothesis(format!("{left} is {how}"), move |i| sum.with(i, &one, &sum.right)));
        let Some(right) = right else { continue };
        let one = short_right();
        family.push(hypothesis(format!("{right} is {how}"), move |i| sum.with(i, &sum.left, &one)));
        let both = (short_left(), short_right());
        family.push(hypothesis(format!("{left} and {right} are {how}"), move |i| {
            sum.with(i, &both.0, &both.1)
        }));
    }
    scene.first(family)
}

/// A result of which every element is a number of a shorter format, and the nearest one or its
/// neighbour. That a `float32` is one by chance is as unlikely as the digits that it lacks.
fn result(scene: &Scene<'_>) -> Option<Pattern> {
    if scene.seen.is_some() || scene.wrong.len() < 3 {
        return None;
    }
    let format = FORMATS.into_iter().find(|&format| {
        (0..scene.candidate.len()).all(|i| {
            let (held, expected) = (scene.candidate[i], scene.expected[i]);
            let exponent = (expected.abs().log2().floor() as i32).max(format.2);
            let quantum = f64::from(exponent - format.1).exp2();
            shortened(held, format, true) == held
                && (held - expected).abs() <= quantum + scene.tolerance(i, expected)
        })
    })?;
    Some(Pattern {
        kind: PatternKind::Explained,
        text: format!(
            "every element has {} binary digits behind the point, as {} has",
            format.1, format.0
        ),
        explains: scene.wrong.len(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// IEEE 754-2019, 4.3.1, and the widths of the formats.
    #[test]
    fn numbers_are_shortened_as_the_formats_have_it() {
        let [half, bfloat16, tf32] = FORMATS;
        assert_eq!(shortened(1.0 + 1.0 / 2048.0, half, false), 1.0);
        assert_eq!(shortened(1.0 + 3.0 / 2048.0, half, false), 1.0 + 2.0 / 1024.0);
        assert_eq!(shortened(1.0 + 3.0 / 2048.0, half, true), 1.0 + 1.0 / 1024.0);
        assert_eq!(shortened(-1.996, bfloat16, true), -1.9921875);
        assert_eq!(shortened(-1.9999, bfloat16, false), -2.0);
        // Below 2^-14 half has no more than 2^-24 to step by; TF32 has the exponents of float32.
        assert_eq!(shortened(2.5 / 16_777_216.0, half, false), 2.0 / 16_777_216.0);
        assert_eq!(shortened(2.5 / 16_777_216.0, tf32, false), 2.5 / 16_777_216.0);
    }
}
