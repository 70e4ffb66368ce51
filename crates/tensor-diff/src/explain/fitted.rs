//! Hypotheses with an unknown number: one element determines the number, which has to reproduce all the others. Among
//! them are activations and masks that differ from the right ones in one number; and sums over the wrong axis.

use tensor::TensorName;

use super::numbers::{decimal, plain, simplest_between};
use super::solve::least_squares;
use super::{Hypothesis, Pattern, Scene, hypothesis};
use crate::chain::count;
use crate::chain::operation::updated_from;
use crate::numeric::extremes;

/// Tries activations, masks and sums over the batch that are altered.
pub(super) fn altered(scene: &Scene<'_>) -> Option<Pattern> {
    match scene.name {
        TensorName::A(layer) => {
            let z = scene.chain.get(TensorName::Z(layer))?;
            leaky(scene, TensorName::Z(layer), z, z)
                .or_else(|| limited(scene, z))
                .or_else(|| normalised(scene))
        }
        TensorName::Z(_) => normalised(scene),
        TensorName::Dz(layer) if layer < scene.chain.layers() => {
            let da = scene.chain.get(TensorName::Da(layer))?;
            leaky(scene, TensorName::Da(layer), da, scene.chain.mask(layer)?)
        }
        TensorName::Db(layer) => summed(scene, layer),
        name => match updated_from(name) {
            Some((parameter, gradient)) => limited_gradient(scene, parameter, gradient),
            None => limited_p(scene),
        },
    }
}

/// Tries a leaky relu, or its mask: a multiple of the input where relu lets nothing pass.
fn leaky(scene: &Scene<'_>, name: TensorName, input: &[f64], mask: &[f64]) -> Option<Pattern> {
    let layer = if let TensorName::A(l) | TensorName::Dz(l) = scene.name { l } else { 0 };
    let confirmed = scene.probes.iter().filter(|&&i| input[i] != 0.0).count() > 2;
    let made = |i: usize| if mask[i] > 0.0 { (input[i], 0.0) } else { (0.0, input[i]) };
    let words = |slope: f64| {
        let slope = decimal(slope);
        format!("it is leaky: {slope} times {name} where z{layer} is not above 0")
    };
    if confirmed { scene.try_made(None, made, words) } else { None }
}

/// Tries an activation with an upper limit, or with a threshold other than 0.
fn limited(scene: &Scene<'_>, z: &[f64]) -> Option<Pattern> {
    let &first = scene.probes.first()?;
    let limit = scene.candidate[first];
    if scene.other_probes(first) < 2 {
        return None;
    }
    let mut family = vec![hypothesis(format!("no element is above {}", decimal(limit)), |i| {
        z[i].max(0.0).min(limit)
    })];
    let zeroed = scene.wrong.iter().filter(|&&i| scene.candidate[i] == 0.0).map(|&i| z[i]);
    let edge = zeroed.fold(f64::NEG_INFINITY, f64::max);
    let passes = z.iter().copied().filter(|&z| z > edge).fold(f64::INFINITY, f64::min);
    let edge = if edge > 0.0 { simplest_between(edge, passes) } else { edge };
    if edge > 0.0 && edge < passes {
        let text = format!("it is 0 where z is up to {}, not up to 0", decimal(edge));
        family.push(hypothesis(text, move |i| if z[i] > edge { z[i] } else { 0.0 }));
    }
    scene.first(family)
}

/// Tries an update by a gradient whose elements are clipped.
fn limited_gradient(
    scene: &Scene<'_>,
    parameter: TensorName,
    gradient: TensorName,
) -> Option<Pattern> {
    let (w, dw) = (scene.chain.get(parameter)?, scene.chain.get(gradient)?);
    let (rate, &first) = (scene.chain.learning_rate(), scene.probes.first()?);
    let limit = short((w[first] - scene.candidate[first]).abs() / rate)?;
    let text = format!("the elements of {gradient} are clipped to ±{}", plain(limit));
    let made = move |i: usize| w[i] - rate * dw[i].clamp(-limit, limit);
    if scene.other_probes(first) < 2 { None } else { scene.first([hypothesis(text, made)]) }
}

/// Tries the output gradient of a `p` that is kept away from 0, or from 0 and 1.
fn limited_p(scene: &Scene<'_>) -> Option<Pattern> {
    let (p, y) = (scene.chain.get(TensorName::P)?, scene.chain.get(TensorName::Y)?);
    if scene.name != TensorName::Dz(scene.chain.layers()) {
        return None;
    }
    let batch = count(scene.chain.batch());
    let family = (2..=16).flat_map(|exponent| {
        let least = 10_f64.powi(-exponent);
        [1.0, 1.0 - least].map(|most| {
            let both =
                if most < 1.0 { format!(" and at most 1 - {least:e}") } else { String::new() };
            let text = format!("p is kept at {least:e} or more{both} before y is subtracted");
            hypothesis(text, move |i| (p[i].clamp(least, most) - y[i]) / batch)
        })
    });
    scene.first(family)
}

/// Rounds a limit to two digits; `None` if that changes it by more than a thousandth, or it is not positive.
fn short(value: f64) -> Option<f64> {
    let short: f64 = format!("{value:.1e}").parse().ok()?;
    ((short - value).abs() <= 1e-3 * value && value > 0.0).then_some(short)
}

/// Tries a layer normalisation of each row, or of each column, before or after the activation. The usual epsilons below
/// the root hardly change it.
fn normalised(scene: &Scene<'_>) -> Option<Pattern> {
    let (rows, columns) = scene.rows_and_columns();
    // The beginning of an element's group, the step to its next element, and its length.
    let group = move |what, i: usize| match what {
        "row" => (i / columns * columns, 1, columns),
        _ => (i % columns, columns, rows),
    };
    let epsilons = [0.0, 1e-8, 1e-6, 1e-5, 1e-3].into_iter();
    let family = epsilons.flat_map(|epsilon| ["row", "column"].map(|what| (epsilon, what)));
    scene.first(family.map(|(epsilon, what)| {
        let text = format!(
            "each {what} is normalised: its mean is subtracted, and it is divided by its deviation"
        );
        hypothesis(text, move |i| {
            let (from, step, n) = group(what, i);
            let own = || scene.expected.iter().skip(from).step_by(step).take(n);
            let mean = own().sum::<f64>() / count(n);
            let squares: f64 = own().map(|x| (x - mean).powi(2)).sum();
            (scene.expected[i] - mean) / (squares / count(n) + epsilon).sqrt()
        })
    }))
}

/// Tries `db` as a sum, or a mean, over all elements or over the units: NumPy's `dz.sum()` without its `axis=0`, and
/// `axis=1`.
fn summed(scene: &Scene<'_>, layer: usize) -> Option<Pattern> {
    let name = TensorName::Dz(layer);
    let dz = scene.chain.get(name)?;
    let units = scene.candidate.len();
    let rows: Vec<f64> = dz.chunks_exact(units).map(|row| row.iter().sum()).collect();
    let total: f64 = rows.iter().sum();
    if rows.len() == 1 && units == 1 {
        return None;
    }
    // Each row of p - y sums to 0 if p is softmax's.
    let both_are_zero =
        rows.iter().chain([&total]).all(|sum| sum.abs() <= scene.tolerance(scene.probes[0], 0.0));
    if both_are_zero {
        let text = format!(
            "it is 0 except for rounding, which is the sum of {name} without an axis, or over the units \
             instead of the samples"
        );
        return scene.first([hypothesis(text, |_| 0.0)]);
    }
    let rows = &rows;
    let of_row = move |i: usize| rows[i % rows.len()];
    let padded = move |i: usize| rows.get(i).copied().unwrap_or(0.0);
    let sum = format!("it is the sum of {name} over the units, not the samples");
    let mean = format!("it is the mean of {name} over the units, not its sum over the samples");
    let all = |what| format!("it is the {what} of all of {name}: the axis is missing");
    scene.first([
        hypothesis(all("sum"), move |_| total),
        hypothesis(all("mean"), move |_| total / count(dz.len())),
        hypothesis(format!("{sum}: the wrong axis"), of_row),
        hypothesis(format!("{sum}, and 0 after the last sample"), padded),
        hypothesis(mean, move |i| of_row(i) / count(units)),
    ])
}

/// Tries predictions from one, two or three numbers for the whole tensor.
pub(super) fn one_number(scene: &Scene<'_>) -> Option<Pattern> {
    constant(scene)
        .or_else(|| clipped(scene))
        .or_else(|| line(scene))
        .or_else(|| combination(scene))
}

/// Tries the same number for all elements.
fn constant(scene: &Scene<'_>) -> Option<Pattern> {
    let constant = scene.candidate[*scene.probes.first()?];
    let all = hypothesis(format!("every element is {}", plain(constant)), move |_| constant);
    if scene.probes.len() < 3 { None } else { scene.first([all]) }
}

/// Tries the right values, clipped to an upper limit, a lower limit, or both.
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
    let both = reduced.len() > 1 && raised.len() > 1;
    if !both && (0..scene.candidate.len()).filter(between).count() < 3 {
        return None;
    }
    let limits = [("above", high), ("below", low)].into_iter().filter(|(_, at)| at.is_finite());
    let limits: Vec<String> = limits.map(|(side, at)| format!("{side} {}", decimal(at))).collect();
    let text = format!("it is clipped: nothing is {}", limits.join(" or "));
    scene.first([hypothesis(text, move |i| scene.expected[i].min(high).max(low))])
}

/// Tries a straight line in the place of a function of `z`, through the probes with the least and the greatest `z`.
fn line(scene: &Scene<'_>) -> Option<Pattern> {
    let z = scene.chain.get(match scene.name {
        TensorName::A(layer) => TensorName::Z(layer),
        TensorName::P => TensorName::Z(scene.chain.layers()),
        _ => return None,
    })?;
    let by_z = |a: &&usize, b: &&usize| z[**a].total_cmp(&z[**b]);
    let (&low, &high) = (scene.probes.iter().min_by(by_z)?, scene.probes.iter().max_by(by_z)?);
    let slope = (scene.candidate[high] - scene.candidate[low]) / (z[high] - z[low]);
    let start = scene.candidate[low] - slope * z[low];
    let text = format!("it is a straight line: {slope:.6} times z + {start:.6}");
    let line = hypothesis(text, move |i| slope * z[i] + start);
    if slope.is_finite() && scene.probes.len() >= 4 { scene.first([line]) } else { None }
}

/// Tries `α·p + β·y + γ` in the place of `p − y`, and such a combination in the place of an update.
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
    let row = |&i: &usize| vec![one[i] * scale, other[i] * scale, scale, scene.candidate[i]];
    let equations: Vec<Vec<f64>> = half.map(row).collect();
    if equations.len() < 6 {
        return None;
    }
    let [alpha, beta, gamma]: [f64; 3] = least_squares(&equations)?.try_into().ok()?;
    let rest = if gamma.abs() < 1e-6 { String::new() } else { format!(" + {gamma:.6}") };
    let over = if scale == 1.0 { "" } else { ", over B" };
    let both = [(alpha, names.0), (beta, names.1)].into_iter().filter(|(by, _)| by.abs() > 1e-6);
    let both: Vec<String> = both.map(|(by, name)| format!("{by:.6} times {name}")).collect();
    let text = format!("it is {}{rest}{over}", both.join(" + "));
    scene.first([hypothesis(text, move |i| scale * (alpha * one[i] + beta * other[i] + gamma))])
}

/// Tries a factor or a summand for each row, or for each column: for example, a wrong divisor of each row, or a wrong
/// bias of each column.
pub(super) fn of_rows_and_columns(scene: &Scene<'_>) -> Option<Pattern> {
    let &[rows, columns] = scene.shape else { return None };
    let off = |i: usize| (scene.candidate[i] - scene.expected[i]).abs();
    let known = scene.wrong.iter().filter(|&&i| scene.candidate[i].is_finite());
    let mut family: Vec<Hypothesis<'_>> = Vec::new();
    for (what, groups) in [("row", rows), ("column", columns)] {
        let group = move |i: usize| if what == "row" { i / columns } else { i % columns };
        let mut wrong = vec![Vec::new(); groups];
        known.clone().for_each(|&i| wrong[group(i)].push(i));
        // The element that is the farthest off determines a group's number, and two more have to confirm it.
        let farthest = |wrong: &Vec<usize>| {
            let farthest = wrong.iter().copied().rev().max_by(|&a, &b| off(a).total_cmp(&off(b)));
            farthest.filter(|_| wrong.len() > 2)
        };
        let farthest: Vec<Option<usize>> = wrong.iter().map(farthest).collect();
        let fitted = |how: fn(f64, f64) -> f64| -> (Vec<f64>, f64, f64) {
            let number = |i: usize| how(scene.candidate[i], scene.expected[i]);
            let all: Vec<f64> = farthest.iter().map(|i| i.map_or(f64::NAN, number)).collect();
            let (least, most) = extremes(all.iter().copied().filter(|x| x.is_finite()));
            (all, least, most)
        };
        let (factors, least, most) = fitted(|c, e| c / e);
        let text = format!("each {what} has a different factor, from {least:.6} to {most:.6}");
        family.push(hypothesis(text, move |i| factors[group(i)] * scene.expected[i]));
        let (more, least, most) = fitted(|c, e| c - e);
        let text =
            format!("a different number is added to each {what}, from {least:.6} to {most:.6}");
        family.push(hypothesis(text, move |i| more[group(i)] + scene.expected[i]));
    }
    scene.first(family)
}
