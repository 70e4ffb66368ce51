//! Elements as a sum of at most two features with factors. Features are functions of the operands, other tensors, and
//! the right value. A few elements determine the factors, which have to reproduce all others.

mod list;

use tensor::TensorName;

use super::numbers::{number, plain};
use super::solve::least_squares;
use super::{Pattern, Scene};
use list::{Feature, features, own_features};

/// The bound of a function that is computed in several operations, in roundings of its input.
const ROUNDINGS: f64 = 2.0;
/// The number of wrong elements, and of right ones, that determine the factors.
const WRONG: usize = 40;
const RIGHT: usize = 24;

/// Tries one feature of the operation's own operands in place of the right value; if the feature is a known mistake,
/// with any factor.
pub(super) fn exchanged(scene: &Scene<'_>) -> Option<Pattern> {
    // In a nonlinearity or its slope, several roundings follow each other.
    let (input, least) = match scene.name {
        // The rounding error of exp(z) - 1 is that of numbers near 1, however small z is.
        TensorName::A(layer) => (scene.chain.get(TensorName::Z(layer)), 0.25),
        TensorName::Dz(layer) if layer < scene.chain.layers() => {
            (scene.chain.get(TensorName::Da(layer)), 0.0)
        }
        _ => (None, 0.0),
    };
    exchanged_within(scene).or_else(|| {
        let input = input?;
        let roundings = |i: usize| ROUNDINGS * scene.unit * input[i].abs().max(least);
        exchanged_within(&scene.with_room(roundings))
    })
}

fn exchanged_within(scene: &Scene<'_>) -> Option<Pattern> {
    // Without `scaled`, each feature is tried as it is; with `scaled`, only known mistakes are, each times a factor.
    let one = |features: &[Feature<'_>], scaled: bool| {
        let factor = (!scaled).then_some(1.0);
        let tells = scene.tells_after(features.len(), scaled.into());
        let tried = |at: &usize| tells && (!scaled || !features[*at].note.is_empty());
        (0..features.len()).filter(tried).find_map(|at| {
            let made = |i: usize| (0.0, (features[at].of)(i));
            scene.try_made(factor, made, |factor| words(scene, features, &[at], &[factor]))
        })
    };
    let features = own_features(scene)?;
    let smoothed = || one(&list::smoothed(scene)?, false);
    one(&features, false).or_else(smoothed).or_else(|| one(&features, true))
}

/// Tries a sum of one or two features, each times a fitted factor.
pub(super) fn combined(scene: &Scene<'_>) -> Option<Pattern> {
    let features = features(scene);
    let (rows, wrong) = equations(scene, &features);
    let all = features.len();
    let tells = |size: usize, members: usize| wrong >= size + 3 && scene.tells_after(members, size);
    let one = (0..if tells(1, all) { all } else { 0 }).map(|a| vec![a]);
    let pairs = 0..if tells(2, all * all / 2) { all } else { 0 };
    let two = pairs.flat_map(|b| (0..b).map(move |a| vec![a, b]));
    one.chain(two).find_map(|chosen| {
        let factors = factors(&rows, &chosen)?;
        // With a factor of 0, a simpler hypothesis explains as much.
        if factors.iter().any(|factor| factor.abs() < 1e-7) {
            return None;
        }
        // Factors rounded to few digits are tried before the fitted factors themselves.
        let short: Vec<f64> =
            factors.iter().map(|&factor| plain(factor).parse().unwrap_or(factor)).collect();
        [short, factors].into_iter().find_map(|factors| {
            let made = |i: usize| -> f64 {
                chosen.iter().zip(&factors).map(|(&at, factor)| factor * (features[at].of)(i)).sum()
            };
            scene.try_numbers(made, || words(scene, &features, &chosen, &factors))
        })
    })
}

/// The elements that determine the factors: the value of each feature and the result, divided by the tolerance; and
/// the number of wrong ones among them.
fn equations(scene: &Scene<'_>, features: &[Feature<'_>]) -> (Vec<Vec<f64>>, usize) {
    let mut elements = scene.known_wrong(WRONG);
    let wrong = elements.len();
    if !scene.in_part {
        let all = scene.candidate.len();
        let right = (0..all).step_by(all.div_ceil(RIGHT).max(1));
        elements.extend(right.filter(|&i| scene.candidate[i].is_finite()));
    }
    let row = |i: usize| -> Vec<f64> {
        let weight = scene.weight(i, scene.candidate[i]);
        let values = features.iter().map(|feature| (feature.of)(i));
        values.chain([scene.candidate[i]]).map(|value| weight * value).collect()
    };
    (elements.into_iter().map(row).collect(), wrong)
}

/// The factors of these features that reproduce all elements to within a few bounds.
fn factors(rows: &[Vec<f64>], chosen: &[usize]) -> Option<Vec<f64>> {
    let row = |row: &Vec<f64>| -> Vec<f64> {
        chosen.iter().map(|&at| row[at]).chain(row.last().copied()).collect()
    };
    let rows: Vec<Vec<f64>> = rows.iter().map(row).collect();
    let factors = least_squares(&rows)?;
    let meets = |row: &Vec<f64>| {
        let made: f64 = row.iter().zip(&factors).map(|(x, factor)| x * factor).sum();
        (made - row[chosen.len()]).abs() <= 2.0
    };
    rows.iter().all(meets).then_some(factors)
}

fn words(scene: &Scene<'_>, features: &[Feature<'_>], chosen: &[usize], factors: &[f64]) -> String {
    let mut text = String::from("it is ");
    let all_over_batch = chosen.iter().all(|&at| features[at].over_batch);
    for (at, (&feature, &factor)) in chosen.iter().zip(factors).enumerate() {
        let over = if features[feature].over_batch && !all_over_batch { " / B" } else { "" };
        let feature = &features[feature].text;
        let (sign, size) = match (at, factor < 0.0) {
            (0, _) => ("", factor),
            (_, true) => (" - ", -factor),
            (_, false) => (" + ", factor),
        };
        text += sign;
        text += &match () {
            () if feature == "1" => plain(size),
            () if size == 1.0 => feature.clone(),
            () if size == -1.0 => format!("-1 times {feature}"),
            () => format!("{} times {feature}", number(scene, size)),
        };
        text += over;
    }
    text += if all_over_batch { ", over B" } else { "" };
    match chosen {
        [one] if !features[*one].note.is_empty() => text + ": " + features[*one].note,
        _ => text,
    }
}
