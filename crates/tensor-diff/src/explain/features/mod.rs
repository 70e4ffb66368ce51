//! Elements as a sum of at most three features with factors: functions of the operands, other tensors,
//! the right value. A few elements determine the factors, which have to reproduce all others.

mod list;

use super::Pattern;
use super::Scene;
use super::numbers::{number, plain};
use super::solve::{Equation, least_squares};
use list::Feature;

/// This many wrong elements say what the factors are, and this many right ones.
const WRONG: usize = 40;
const OTHERS: usize = 24;
/// How many of the first features are tried in threes.
const IN_THREES: usize = 12;

/// The factor of one feature, or of two.
pub(super) fn combined(scene: &Scene<'_>) -> Option<Pattern> {
    let features = list::features(scene);
    let sample = Sample::of(scene, &features)?;
    let all = features.len();
    let one = (0..all).map(|a| vec![a]);
    let two = (0..all).flat_map(|b| (0..b).map(move |a| vec![a, b]));
    of_size(scene, &features, &sample, 1, all, one)
        .or_else(|| of_size(scene, &features, &sample, 2, all * all / 2, two))
}

/// Those of three.
pub(super) fn combined_of_three(scene: &Scene<'_>) -> Option<Pattern> {
    let features = list::features(scene);
    let sample = Sample::of(scene, &features)?;
    let core = features.len().min(IN_THREES);
    let three =
        (0..core).flat_map(|c| (0..c).flat_map(move |b| (0..b).map(move |a| vec![a, b, c])));
    of_size(scene, &features, &sample, 3, core * core * core / 6, three)
}

fn of_size(
    scene: &Scene<'_>,
    features: &[Feature<'_>],
    sample: &Sample,
    size: usize,
    members: usize,
    mut family: impl Iterator<Item = Vec<usize>>,
) -> Option<Pattern> {
    if sample.wrong < size + 3 || !scene.tells_after(members, size) {
        return None;
    }
    family.find_map(|chosen| told(scene, features, sample, &chosen))
}

/// The elements that the factors are solved for, each equation in units of what is allowed.
struct Sample {
    /// By feature, then by element.
    columns: Vec<Vec<f64>>,
    results: Vec<f64>,
    wrong: usize,
}

impl Sample {
    fn of(scene: &Scene<'_>, features: &[Feature<'_>]) -> Option<Self> {
        let known: Vec<usize> =
            scene.wrong.iter().copied().filter(|&i| scene.candidate[i].is_finite()).collect();
        let mut elements: Vec<usize> =
            known.iter().copied().step_by(known.len().div_ceil(WRONG).max(1)).collect();
        let wrong = elements.len();
        if !scene.in_part {
            let all = scene.candidate.len();
            let right = (0..all).step_by(all.div_ceil(OTHERS).max(1));
            elements.extend(right.filter(|&i| scene.candidate[i].is_finite()));
        }
        let weight =
            |&i: &usize| 1.0 / scene.tolerance(i, scene.candidate[i]).max(f64::MIN_POSITIVE);
        let weights: Vec<f64> = elements.iter().map(weight).collect();
        let column = |feature: &Feature<'_>| -> Vec<f64> {
            elements.iter().zip(&weights).map(|(&i, weight)| weight * (feature.of)(i)).collect()
        };
        let results = elements.iter().zip(&weights).map(|(&i, w)| w * scene.candidate[i]).collect();
        (wrong > 1).then(|| Self { columns: features.iter().map(column).collect(), results, wrong })
    }

    /// The factors of these features that make all of the sample.
    fn solve(&self, chosen: &[usize]) -> Option<Vec<f64>> {
        let row = |at: usize| Equation {
            factors: chosen.iter().map(|&feature| self.columns[feature][at]).collect(),
            result: self.results[at],
        };
        // Most are refused by as many equations as there are factors, and two more.
        let few = (chosen.len() + 2).min(self.results.len());
        let step = (self.wrong / few).max(1);
        let first: Vec<Equation> =
            (0..few).map(|at| row((at * step).min(self.results.len() - 1))).collect();
        if least_squares(&first).is_some_and(|f| !self.meets(chosen, &f, first.len(), step)) {
            return None;
        }
        let all: Vec<Equation> = (0..self.results.len()).map(row).collect();
        let factors = least_squares(&all)?;
        self.meets(chosen, &factors, self.results.len(), 1).then_some(factors)
    }

    /// Whether the first elements, so far apart, are met to within a few bounds.
    fn meets(&self, chosen: &[usize], factors: &[f64], count: usize, step: usize) -> bool {
        (0..count).map(|at| (at * step).min(self.results.len() - 1)).all(|at| {
            let made: f64 =
                chosen.iter().zip(factors).map(|(&feature, f)| f * self.columns[feature][at]).sum();
            (made - self.results[at]).abs() <= 2.0
        })
    }
}

fn told(
    scene: &Scene<'_>,
    features: &[Feature<'_>],
    sample: &Sample,
    chosen: &[usize],
) -> Option<Pattern> {
    let factors = sample.solve(chosen)?;
    // A factor that does nothing belongs to a simpler hypothesis.
    if factors.iter().any(|factor| factor.abs() < 1e-7) {
        return None;
    }
    // Numbers with few digits before those that were solved for.
    let short: Vec<f64> =
        factors.iter().map(|&factor| plain(factor).parse().unwrap_or(factor)).collect();
    [short, factors].into_iter().find_map(|factors| {
        let made = |i: usize| -> f64 {
            chosen.iter().zip(&factors).map(|(&at, factor)| factor * (features[at].of)(i)).sum()
        };
        scene.try_numbers(made, || words(scene, features, chosen, &factors))
    })
}

fn words(scene: &Scene<'_>, features: &[Feature<'_>], chosen: &[usize], factors: &[f64]) -> String {
    let mut text = String::from("it is ");
    for (at, (&feature, &factor)) in chosen.iter().zip(factors).enumerate() {
        let feature = &features[feature].text;
        let (sign, size) = match (at, factor < 0.0) {
            (0, _) => ("", factor),
            (_, true) => (" - ", -factor),
            (_, false) => (" + ", factor),
        };
        let one = size == 1.0;
        text += sign;
        text += &match () {
            () if feature == "1" => plain(size),
            () if one => feature.clone(),
            () if size == -1.0 => format!("-1 times {feature}"),
            () => format!("{} times {feature}", number(scene, size)),
        };
    }
    text + list::over(scene)
}
