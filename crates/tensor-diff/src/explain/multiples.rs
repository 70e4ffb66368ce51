//! Tensors that are a multiple of what they should be, or have a multiple of another one added.

use tensor::TensorName;

use super::Pattern;
use super::{Scene, hypothesis};
use crate::finding::PatternKind;

/// What the step before left, or another tensor altogether.
pub(super) fn not_written(scene: &Scene<'_>) -> Option<Pattern> {
    let others = scene.tensors().into_iter().filter(|(_, name, earlier, values)| {
        values.len() == scene.candidate.len() && (*name != scene.name || *earlier)
    });
    let family = others.map(|(text, name, earlier, values)| {
        let text = if name == scene.name && earlier {
            format!("it is still {text}: it was not written")
        } else {
            format!("it is {text}")
        };
        hypothesis(text, move |i| values[i])
    });
    // What rounding leaves of a sum of zeros was written.
    let zero = |i: usize| {
        if scene.seen.is_some() || scene.candidate[i] == 0.0 { 0.0 } else { f64::INFINITY }
    };
    let zero = hypothesis("it is 0: it was not written", zero);
    scene.first(std::iter::once(zero).chain(family).collect()).or_else(|| exchanged(scene))
}

/// What another tensor should be, which holds something else.
fn exchanged(scene: &Scene<'_>) -> Option<Pattern> {
    let shape = |name| scene.chain.shape(name).is_some_and(|shape| shape == scene.shape);
    let made_of_it = scene.chain.made_of(scene.name);
    let names = scene.chain.names().into_iter();
    names.filter(|name| !made_of_it.contains(name) && shape(*name)).find_map(|name| {
        let values = scene.chain.compute(name)?;
        let text = || format!("it equals {name}: exchanged names or buffers");
        let found = scene.try_numbers(|i| values[i], text)?;
        Some(Pattern { kind: PatternKind::EqualsOther, ..found })
    })
}

/// The factors that need no size: a sign, an addition twice, another base of the logarithm.
fn plain_factors() -> Vec<(f64, String)> {
    use std::f64::consts::{LN_2, LOG2_E, LOG10_E};
    let named = [
        (-1.0, "-1"),
        (2.0, "2"),
        (0.5, "1/2"),
        (LOG2_E, "1/ln 2"),
        (LN_2, "ln 2"),
        (LOG10_E, "1/ln 10"),
    ];
    named.map(|(factor, text)| (factor, text.to_owned())).to_vec()
}

/// The factors that sizes make, and their quotients.
fn factors_of_sizes(scene: &Scene<'_>) -> Vec<(f64, String)> {
    let sizes = scene.sizes();
    let mut all = Vec::new();
    for (n, text) in &sizes {
        all.push((*n, format!("{text} = {n}")));
        all.push((1.0 / n, format!("1/{text} = 1/{n}")));
    }
    for (n, a) in &sizes {
        for (m, b) in sizes.iter().filter(|(m, _)| m != n) {
            all.push((n / m, format!("{a}/{b} = {n}/{m}")));
        }
    }
    let negative: Vec<(f64, String)> =
        all.iter().map(|(factor, text)| (-factor, format!("-{text}"))).collect();
    all.extend(negative);
    all
}

pub(super) fn known_factors(scene: &Scene<'_>) -> Option<Pattern> {
    for factors in [plain_factors(), factors_of_sizes(scene)] {
        let family = factors.into_iter().map(|(factor, text)| {
            hypothesis(format!("it is {text} times what it should be"), move |i| {
                factor * scene.expected[i]
            })
        });
        let found = scene.first(family.collect());
        if found.is_some() {
            return found;
        }
    }
    let (parameter, gradient) = updated_from(scene.name)?;
    let (w, dw) = (scene.chain.get(parameter)?, scene.chain.get(gradient)?);
    let rate = scene.chain.learning_rate();
    let mut steps = plain_factors();
    steps.extend(factors_of_sizes(scene));
    steps.push((1.0 / rate, format!("1/lr = 1/{rate:?}")));
    steps.push((0.0, "0".into()));
    let family = steps.into_iter().map(|(factor, text)| {
        hypothesis(format!("the step is {text} times what it should be"), move |i| {
            w[i] - factor * rate * dw[i]
        })
    });
    let mut family: Vec<_> = family.collect();
    family.push(hypothesis(format!("{parameter} is left out: it is the step alone"), move |i| {
        -rate * dw[i]
    }));
    scene.first(family)
}

pub(super) const fn updated_from(name: TensorName) -> Option<(TensorName, TensorName)> {
    match name {
        TensorName::WNext(layer) => Some((TensorName::W(layer), TensorName::Dw(layer))),
        TensorName::BNext(layer) => Some((TensorName::B(layer), TensorName::Db(layer))),
        _ => None,
    }
}

/// An update by another gradient, of another parameter, or by the right one in another order.
pub(super) fn update_by_other(scene: &Scene<'_>) -> Option<Pattern> {
    let (parameter, gradient) = updated_from(scene.name)?;
    let (w, dw) = (scene.chain.get(parameter)?, scene.chain.get(gradient)?);
    let rate = scene.chain.learning_rate();
    let (rows, columns) = scene.rows_and_columns();
    let mut family = vec![
        hypothesis(format!("{gradient} is read as if it were stored transposed"), move |i| {
            w[i] - rate * dw[i % columns * rows + i / columns]
        }),
        hypothesis(format!("{parameter} is updated twice"), move |i| w[i] - 2.0 * rate * dw[i]),
        hypothesis(format!("the sign of {gradient} is taken for {gradient}"), move |i| {
            w[i] - rate * if dw[i] == 0.0 { 0.0 } else { dw[i].signum() }
        }),
        hypothesis(format!("the magnitude of {gradient} is taken for {gradient}"), move |i| {
            w[i] - rate * dw[i].abs()
        }),
        hypothesis(format!("{gradient} is squared"), move |i| w[i] - rate * dw[i] * dw[i]),
    ];
    for offset in [1, -1, columns as isize, -(columns as isize)] {
        let text = format!("{gradient} is read {offset} elements off");
        family.push(hypothesis(text, move |i| {
            let at = i.checked_add_signed(offset).and_then(|at| dw.get(at));
            w[i] - rate * at.copied().unwrap_or(f64::NAN)
        }));
    }
    family.push(hypothesis(format!("element 0 of {gradient} is read for all"), move |i| {
        w[i] - rate * dw.first().map_or(0.0, |dw| *dw) - 0.0 * i as f64
    }));
    for (text, name, earlier, values) in scene.tensors() {
        if values.len() < scene.candidate.len() {
            continue;
        }
        let part = if values.len() == scene.candidate.len() { "" } else { "the beginning of " };
        if name != gradient || earlier {
            let text = format!("{part}{text} is read in place of {gradient}");
            family.push(hypothesis(text, move |i| w[i] - rate * values[i]));
        }
        if name != parameter || earlier {
            let text = format!("{part}{text} is updated in place of {parameter}");
            family.push(hypothesis(text, move |i| values[i] - rate * dw[i]));
        }
    }
    scene.first(family)
}

/// What it should be, and a multiple of another tensor: regularisation, momentum, accumulation.
pub(super) fn plus_other(scene: &Scene<'_>) -> Option<Pattern> {
    let (_, columns) = scene.rows_and_columns();
    let elements = scene.candidate.len();
    let mut others: Vec<(String, TensorName, bool, &[f64])> = Vec::new();
    for (text, name, earlier, values) in scene.tensors() {
        if name == scene.name && !earlier {
            continue;
        }
        let mut push = |length: usize| {
            let part = if values.len() == length { "" } else { "the beginning of " };
            others.push((format!("{part}{text}"), name, earlier, &values[..length]));
        };
        if values.len() >= elements {
            push(elements);
        }
        // Of one row, to every row.
        if scene.shape.len() == 2 && (columns..elements).contains(&values.len()) {
            push(columns);
        }
    }
    let mut whole = Vec::new();
    let mut fitted = Vec::new();
    if let Some(&first) = scene.probes.first() {
        let more = scene.candidate[first] - scene.expected[first];
        if scene.probes.iter().filter(|&&i| i != first).count() >= 2 {
            let text = format!("every element is {more:.6} more than it should be");
            fitted.push(hypothesis(text, move |i| scene.expected[i] + more));
        }
    }
    for (text, name, earlier, values) in others {
        let at = move |i: usize| values[i % values.len()];
        let again = if name == scene.name && earlier {
            ": it is added to what was left of the step before"
        } else {
            ""
        };
        for (sign, word) in [(1.0, "plus"), (-1.0, "minus")] {
            let text = format!("it is what it should be {word} {text}{again}");
            whole.push(hypothesis(text, move |i| scene.expected[i] + sign * at(i)));
        }
        // The multiple that makes the farthest element has to make the others.
        let Some(&first) = scene.probes.first() else { continue };
        let factor = (scene.candidate[first] - scene.expected[first]) / at(first);
        let others = scene.probes.iter().filter(|&&i| i != first && at(i) != 0.0).count();
        if factor.is_finite() && others >= 2 {
            let text = format!(
                "it is what it should be plus {factor:.4e} times {text}{}",
                called(scene, name, factor)
            );
            fitted.push(hypothesis(text, move |i| scene.expected[i] + factor * at(i)));
        }
    }
    scene.first(whole).or_else(|| scene.first(fitted))
}

/// What a multiple of that tensor is known as.
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
