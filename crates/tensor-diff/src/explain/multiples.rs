//! Tensors that are another tensor, a multiple of the right one, or the right one plus a multiple of another.

use tensor::TensorName;

use super::formula::Formula;
use super::numbers::{clipped_to, number};
use super::{Pattern, Scene, hypothesis};
use crate::chain::operation::updated_from;
use crate::finding::PatternKind;

/// Tries zero, the result of the previous step, or another tensor in the place of the tensor.
pub(super) fn not_written(scene: &Scene<'_>) -> Option<Pattern> {
    let others = scene.tensors().into_iter().filter(|(_, name, earlier, values)| {
        values.len() == scene.candidate.len() && (*name != scene.name || *earlier)
    });
    let family = others.map(|(text, name, _, values)| {
        let text = if name == scene.name {
            format!("it is still {text}: it was not written")
        } else {
            format!("it is {text}")
        };
        hypothesis(text, move |i| values[i])
    });
    // A sum of zeros that was written may be a rounding error away from 0.
    let zero = |i: usize| {
        if scene.seen.is_some() || scene.candidate[i] == 0.0 { 0.0 } else { f64::INFINITY }
    };
    let zero = hypothesis("it is 0: it was not written", zero);
    scene.first(std::iter::once(zero).chain(family)).or_else(|| exchanged(scene))
}

/// The hypotheses that the values are the right values of another tensor of the same shape.
fn exchanged(scene: &Scene<'_>) -> Option<Pattern> {
    let made_of_it = scene.chain.made_of(scene.name);
    let others = scene.chain.names().into_iter().filter(|other| !made_of_it.contains(other));
    let mut others =
        others.filter(|&other| scene.chain.shape(other).as_deref() == Some(scene.shape));
    others.find_map(|other| {
        let values = scene.chain.compute(other)?;
        let text = || format!("it equals {other}: exchanged names or buffers");
        let found = scene.try_numbers(|i| values[i], text)?;
        Some(Pattern { kind: PatternKind::EqualsOther, ..found })
    })
}

/// The numbers that a factor may be without any evidence but a few elements: whole numbers, fractions of them, decimals
/// with one digit, and other bases of the logarithm.
pub(super) fn plain_factors() -> Vec<f64> {
    use std::f64::consts::{LN_2, LOG2_E, LOG10_E};
    let whole = (2..=10).map(f64::from);
    let decimals = [0.9, 0.1, 0.01, 0.001, 100.0, 1000.0, 1.5, 2.0 / 3.0, 0.75, 4.0 / 3.0];
    let each = whole.flat_map(|n| [n, 1.0 / n]).chain(decimals).chain([LOG2_E, LN_2, LOG10_E]);
    std::iter::once(-1.0).chain(each.flat_map(|factor| [factor, -factor])).collect()
}

/// The sizes of the network, one over each, and their quotients; and the negatives of all of these.
fn factors_of_sizes(scene: &Scene<'_>) -> Vec<f64> {
    let sizes = || scene.sizes().into_iter().map(|(n, _)| n);
    let quotients = sizes().flat_map(|n| sizes().map(move |m| n / m));
    let all = sizes().flat_map(|n| [n, 1.0 / n]).chain(quotients).filter(|factor| *factor != 1.0);
    all.flat_map(|factor| [factor, -factor]).collect()
}

/// Tries the tensor times a factor: a known factor, or any if enough elements confirm it.
pub(super) fn factor(scene: &Scene<'_>) -> Option<Pattern> {
    let words = |factor: f64| {
        let is_gradient = matches!(scene.name, TensorName::Dw(_) | TensorName::Db(_));
        let clipped =
            is_gradient.then(|| clipped_to(scene.chain, scene.name, scene.expected, factor));
        let clipped = clipped.unwrap_or_default();
        format!("it is {} times what it should be{clipped}", number(scene, factor))
    };
    let known = [plain_factors(), factors_of_sizes(scene)];
    let known = known.iter().find_map(|factors| {
        let one = |&factor: &f64| hypothesis(words(factor), move |i| factor * scene.expected[i]);
        scene.first(factors.iter().map(one))
    });
    known.or_else(|| {
        let &first = scene.probes.first()?;
        let tells = scene.other_probes(first) >= 3 && scene.tells_after(1, 1);
        if tells { scene.try_made(None, |i| (0.0, scene.expected[i]), words) } else { None }
    })
}

/// Tries an update that is stored without the parameter that it should change.
pub(super) fn step_alone(scene: &Scene<'_>) -> Option<Pattern> {
    let (parameter, gradient) = updated_from(scene.name)?;
    let (dw, rate) = (scene.chain.get(gradient)?, scene.chain.learning_rate());
    let text = format!("{parameter} is left out: it is the step alone");
    scene.first([hypothesis(text, |i| -rate * dw[i])])
}

/// Tries a bias that is stored without the product, left out, added twice or subtracted.
pub(super) fn bias(scene: &Scene<'_>) -> Option<Pattern> {
    let sum = &Formula::sum(scene)?;
    let name = sum.bias()?;
    let family = [
        (format!("it is {name} alone: the product is not added"), 0.0, 1.0),
        (format!("{name} is not added"), 1.0, -1.0),
        (format!("{name} is added twice"), 1.0, 1.0),
        (format!("{name} is subtracted"), 1.0, -2.0),
    ];
    let family = family.map(|(text, right, bias)| {
        hypothesis(text, move |i| right * scene.expected[i] + bias * sum.base_of(i))
    });
    scene.first(family)
}

/// Tries the right value plus a multiple of another tensor: regularisation, momentum, accumulation.
pub(super) fn plus_other(scene: &Scene<'_>) -> Option<Pattern> {
    let (_, columns) = scene.rows_and_columns();
    let (elements, expected) = (scene.candidate.len(), scene.expected);
    let &first = scene.probes.first()?;
    let more = scene.candidate[first] - expected[first];
    let (mut whole, mut fitted) = (Vec::new(), Vec::new());
    if scene.other_probes(first) >= 2 {
        let text = format!("every element is {more:.6} more than it should be");
        fitted.push(hypothesis(text, move |i| expected[i] + more));
    }
    let others = scene.tensors().into_iter();
    for (text, name, _, values) in
        others.filter(|(_, name, earlier, _)| *earlier || *name != scene.name)
    {
        // The other tensor has all elements, or it is one row, which is added to every row.
        let is_row = scene.shape.len() == 2 && (columns..elements).contains(&values.len());
        let length = match values.len() {
            n if n >= elements => elements,
            _ if is_row => columns,
            _ => continue,
        };
        let part = if values.len() == length { "" } else { "the beginning of " };
        let at = move |i: usize| values[i % length];
        let again =
            if name == scene.name { ": it is added to the result of the step before" } else { "" };
        for (sign, word) in [(1.0, "plus"), (-1.0, "minus")] {
            let text = format!("it is what it should be {word} {part}{text}{again}");
            whole.push(hypothesis(text, move |i| expected[i] + sign * at(i)));
        }
        // The multiple from the farthest element has to reproduce the others.
        let factor = more / at(first);
        let others = scene.probes.iter().filter(|&&i| i != first && at(i) != 0.0).count();
        if factor.is_finite() && others >= 2 {
            let called = called(scene, name, factor);
            let text =
                format!("it is what it should be plus {factor:.4e} times {part}{text}{called}");
            fitted.push(hypothesis(text, move |i| expected[i] + factor * at(i)));
        }
    }
    scene.first(whole).or_else(|| scene.first(fitted))
}

/// The customary name of adding a multiple of that tensor.
fn called(scene: &Scene<'_>, added: TensorName, factor: f64) -> String {
    use TensorName::{B, BNext, Db, Dw, W, WNext};
    let rate = scene.chain.learning_rate();
    match (scene.name, added) {
        (Dw(l), W(m)) | (Db(l), B(m)) if l == m => format!(": regularisation by {factor:.4e}"),
        (WNext(l), W(m)) | (BNext(l), B(m)) if l == m => {
            format!(": weight decay by {:.4e}", -factor / rate)
        }
        (WNext(l), Dw(m)) | (BNext(l), Db(m)) if l == m => {
            format!(": momentum of {:.4}", -factor / rate)
        }
        _ => String::new(),
    }
}
