//! The weight with which each term entered a sum: solved for by least squares over the elements that share
//! it, then described in words. If there are more terms than elements, terms that a loop, a tile or a sign
//! treats alike share a weight.

mod grouped;
mod term;
mod words;

use super::formula::Formula;
use super::numbers::number;
use super::solve::least_squares;
use super::terms::weighted_range;
use super::{Pattern, Scene};
use crate::describe::place::TILES;
use crate::numeric::unique;
use grouped::Grouping;
pub(super) use words::of_weights;

/// The largest number of elements that make equations.
const MAX_EQUATIONS: usize = 400;

pub(super) fn of_terms(scene: &Scene<'_>) -> Option<Pattern> {
    if !scene.tells(1) {
        return None;
    }
    let sum = Formula::sum(scene).filter(|sum| sum.length > 0);
    let found =
        sum.and_then(|sum| term::made_otherwise(scene, &sum).or_else(|| solved(scene, &sum)));
    found.or_else(|| weighted_range(scene))
}

/// The elements that make equations: in a part of the tensor, those that are wrong.
struct Equations {
    elements: Vec<usize>,
    /// The terms of the sum, for each of these elements.
    terms: Vec<Vec<f64>>,
    /// The number of elements that can confirm the weights.
    all: usize,
}

impl Equations {
    fn new(scene: &Scene<'_>, sum: &Formula<'_>) -> Self {
        let pool: Vec<usize> = if scene.in_part {
            scene.known_wrong(usize::MAX)
        } else {
            (0..scene.candidate.len()).filter(|&i| scene.candidate[i].is_finite()).collect()
        };
        let mut step = pool.len().div_ceil(MAX_EQUATIONS).max(1);
        // A step that divides a row's length would see few columns.
        if step > 1 && scene.rows_and_columns().1.is_multiple_of(step) {
            step += 1;
        }
        let elements: Vec<usize> = pool.iter().copied().step_by(step).collect();
        let terms = elements.iter().map(|&i| sum.terms(i).collect()).collect();
        Self { terms, elements, all: pool.len() }
    }
}

fn solved(scene: &Scene<'_>, sum: &Formula<'_>) -> Option<Pattern> {
    let equations = Equations::new(scene, sum);
    // A group for each term, for those whose distances are multiples of a period, and for chunks.
    let mut groupings = vec![Grouping::by_number(sum.length, |k| k)];
    let periods = (2..=64).filter(|period| 2 * period <= sum.length);
    groupings.extend(periods.map(|period| Grouping::by_number(period, move |k| k % period)));
    let chunks = (2..=8).map(|chunks| sum.length.div_ceil(chunks));
    let tiles = unique(TILES.into_iter().chain(chunks));
    let tiles = tiles.into_iter().filter(|&tile| 1 < tile && tile < sum.length);
    groupings.extend(
        tiles.map(|tile| Grouping::by_number(sum.length.div_ceil(tile), move |k| k / tile)),
    );
    groupings.extend(grouped::by_place(scene, sum));
    groupings.into_iter().find_map(|grouping| by_groups(scene, sum, &equations, &grouping))
}

fn by_groups(
    scene: &Scene<'_>,
    sum: &Formula<'_>,
    equations: &Equations,
    grouping: &Grouping<'_>,
) -> Option<Pattern> {
    let groups = grouping.groups;
    let unknowns = groups + usize::from(sum.bias().is_some());
    // Half as many elements again have to confirm the weights.
    if equations.all.min(equations.elements.len()) < unknowns + unknowns / 2 + 6 {
        return None;
    }
    // The terms of each group, the bias, and the result.
    let row = |(&i, terms): (&usize, &Vec<f64>)| {
        let weight = scene.weight(i, scene.expected[i]);
        let mut row = vec![0.0; unknowns + 1];
        for (k, term) in terms.iter().enumerate() {
            row[(grouping.of)(i, k)] += weight * term;
        }
        if unknowns > groups {
            row[groups] = weight * sum.base_of(i);
        }
        row[unknowns] = weight * scene.candidate[i];
        row
    };
    let mut rows: Vec<Vec<f64>> =
        equations.elements.iter().zip(&equations.terms).map(row).collect();
    // A weight that no element depends on stays 1.
    let size = |at: usize| rows.iter().map(|row| row[at].abs()).fold(0.0, f64::max);
    let (traced, lost): (Vec<usize>, Vec<usize>) = (0..unknowns).partition(|&at| size(at) > 1.0);
    for row in &mut rows {
        let result = row[unknowns] - lost.iter().map(|&at| row[at]).sum::<f64>();
        *row = traced.iter().map(|&at| row[at]).chain([result]).collect();
    }
    let found = least_squares(&rows)?;
    let mut weights = vec![1.0; unknowns];
    traced.iter().zip(&found).for_each(|(&at, &weight)| weights[at] = weight);
    if weights.iter().all(|&weight| (weight - 1.0).abs() < 1e-3) {
        return None;
    }
    let predict = |weights: &[f64], i: usize| {
        let terms = sum.terms(i).enumerate();
        let terms: f64 = terms.map(|(k, term)| weights[(grouping.of)(i, k)] * term).sum();
        terms + weights.get(groups).map_or(0.0, |weight| weight * sum.base_of(i))
    };
    // Numbers that are nearly whole count as whole if that explains as much.
    let whole = |weight: f64| {
        let whole = (2.0 * weight).round() / 2.0;
        if (weight - whole).abs() < 2e-3 { whole } else { weight }
    };
    let rounded: Vec<f64> = weights.iter().map(|&weight| whole(weight)).collect();
    [rounded, weights].into_iter().find_map(|weights| {
        scene.try_numbers(|i| predict(&weights, i), || described(scene, sum, grouping, &weights))
    })
}

/// The sentence that reports the fitted weights.
fn described(
    scene: &Scene<'_>,
    sum: &Formula<'_>,
    grouping: &Grouping<'_>,
    weights: &[f64],
) -> String {
    let (terms, base) = weights.split_at(grouping.groups);
    let of_base = base.first().zip(sum.bias()).filter(|(weight, _)| **weight != 1.0);
    let of_base = of_base.map(|(&weight, name)| match weight {
        0.0 => format!("{name} is not added"),
        2.0 => format!("{name} is added twice"),
        -1.0 => format!("{name} is subtracted"),
        _ => format!("{name} is added {} times", number(scene, weight)),
    });
    let of_terms = grouping.words(scene, sum, terms);
    [of_terms, of_base].into_iter().flatten().collect::<Vec<_>>().join(", and ")
}
