//! The weight with which each term entered a sum: solved for by least squares over the elements that share
//! it, then described in words. If there are more terms than elements, terms that a loop, a tile or a sign
//! treats alike share a weight.

mod grouped;
mod operand;
mod term;
mod words;

use super::Pattern;
use super::Scene;
use super::formula::Sum;
use super::numbers::number;
use super::solve::{Equation, least_squares};
use crate::describe::place::TILES;
use grouped::Grouping;
pub(super) use words::of_weights;

/// At most this many elements make equations.
const EQUATIONS: usize = 400;
/// Beyond this many terms not every window is tried.
const WINDOWS: usize = 800;

pub(super) fn of_terms(scene: &Scene<'_>) -> Option<Pattern> {
    let sum = Sum::of(scene)?;
    if sum.length == 0 || !scene.tells_after(1, 0) {
        return None;
    }
    term::made_otherwise(scene, &sum)
        .or_else(|| operand::altered(scene, &sum))
        .or_else(|| solved(scene, &sum))
        .or_else(|| window(scene, &sum))
}

/// The elements that make equations: in a part of the tensor, those that are wrong.
struct Equations {
    elements: Vec<usize>,
    /// The terms of each.
    terms: Vec<Vec<f64>>,
    /// How many elements there are to confirm what they say.
    all: usize,
}

impl Equations {
    fn of(scene: &Scene<'_>, sum: &Sum<'_>) -> Self {
        let known = |i: &usize| scene.candidate[*i].is_finite();
        let pool: Vec<usize> = if scene.in_part {
            scene.wrong.iter().copied().filter(known).collect()
        } else {
            (0..scene.candidate.len()).filter(known).collect()
        };
        let step = pool.len().div_ceil(EQUATIONS).max(1);
        // A step that a row's length divides would see few columns.
        let step = if step > 1 && scene.rows_and_columns().1.is_multiple_of(step) {
            step + 1
        } else {
            step
        };
        let elements: Vec<usize> = pool.iter().copied().step_by(step).collect();
        let terms = elements.iter().map(|&i| (0..sum.length).map(|k| sum.term(i, k)).collect());
        Self { terms: terms.collect(), elements, all: pool.len() }
    }
}

fn solved(scene: &Scene<'_>, sum: &Sum<'_>) -> Option<Pattern> {
    let equations = Equations::of(scene, sum);
    let mut groupings = vec![Grouping::each(sum.length)];
    groupings.extend((2..=64).filter(|period| 2 * period <= sum.length).map(Grouping::period));
    let mut tiles: Vec<usize> = TILES.to_vec();
    tiles.extend((2..=8).map(|chunks| sum.length.div_ceil(chunks)));
    tiles.sort_unstable();
    tiles.dedup();
    let chunks = tiles.into_iter().filter(|&tile| 1 < tile && tile < sum.length);
    groupings.extend(chunks.map(|tile| Grouping::chunks(tile, sum.length)));
    groupings.extend(grouped::by_place(scene, sum));
    groupings.into_iter().find_map(|grouping| by_groups(scene, sum, &equations, &grouping))
}

fn by_groups(
    scene: &Scene<'_>,
    sum: &Sum<'_>,
    equations: &Equations,
    grouping: &Grouping<'_>,
) -> Option<Pattern> {
    let based = usize::from(sum.base.is_some());
    let unknowns = grouping.groups + based;
    // Half as many elements again have to confirm what the others say.
    if equations.all.min(equations.elements.len()) < unknowns + unknowns / 2 + 6 {
        return None;
    }
    let mut rows: Vec<Equation> = Vec::with_capacity(equations.elements.len());
    for (&i, terms) in equations.elements.iter().zip(&equations.terms) {
        let weight = 1.0 / scene.tolerance(i, scene.expected[i]).max(f64::MIN_POSITIVE);
        let mut factors = vec![0.0; unknowns];
        for (k, term) in terms.iter().enumerate() {
            factors[(grouping.of)(i, k)] += weight * term;
        }
        if based == 1 {
            factors[grouping.groups] = weight * sum.base_of(i);
        }
        rows.push(Equation { factors, result: weight * scene.candidate[i] });
    }
    // What no element has a trace of can't be told, and is left as it should be.
    let size = |at: usize| rows.iter().map(|row| row.factors[at].abs()).fold(0.0, f64::max);
    let sizes: Vec<f64> = (0..unknowns).map(size).collect();
    let traced: Vec<usize> = (0..unknowns).filter(|&at| sizes[at] > 1.0).collect();
    for row in &mut rows {
        let lost: f64 =
            (0..unknowns).filter(|at| sizes[*at] <= 1.0).map(|at| row.factors[at]).sum();
        row.result -= lost;
        row.factors = traced.iter().map(|&at| row.factors[at]).collect();
    }
    let found = least_squares(&rows)?;
    let mut weights = vec![1.0; unknowns];
    traced.iter().zip(&found).for_each(|(&at, &weight)| weights[at] = weight);
    let close = |weight: f64, other: f64| (weight - other).abs() < 1e-3;
    if weights.iter().all(|&weight| close(weight, 1.0)) {
        return None;
    }
    let predict = |weights: &[f64], i: usize| {
        let terms: f64 =
            (0..sum.length).map(|k| weights[(grouping.of)(i, k)] * sum.term(i, k)).sum();
        terms + if based == 1 { weights[grouping.groups] * sum.base_of(i) } else { 0.0 }
    };
    // Numbers that are nearly whole are, where that explains as much.
    let whole = |weight: f64| {
        let whole = (2.0 * weight).round() / 2.0;
        if (weight - whole).abs() < 2e-3 { whole } else { weight }
    };
    let rounded: Vec<f64> = weights.iter().map(|&weight| whole(weight)).collect();
    [rounded, weights].into_iter().find_map(|weights| {
        scene.try_numbers(|i| predict(&weights, i), || told(scene, sum, grouping, &weights))
    })
}

/// The weights in words.
fn told(scene: &Scene<'_>, sum: &Sum<'_>, grouping: &Grouping<'_>, weights: &[f64]) -> String {
    let (terms, base) = weights.split_at(grouping.groups);
    let of_base = base.first().zip(sum.names[2]).filter(|(weight, _)| **weight != 1.0);
    let of_base = of_base.map(|(&weight, name)| match weight {
        0.0 => format!("{name} is not added"),
        2.0 => format!("{name} is added twice"),
        -1.0 => format!("{name} is subtracted"),
        _ => format!("{name} is added {} times", number(scene, weight)),
    });
    let of_terms = (grouping.words)(scene, sum, terms);
    [of_terms, of_base].into_iter().flatten().collect::<Vec<_>>().join(", and ")
}

/// A window of terms with a weight of its own, in a sum that has too many terms to solve for each.
fn window(scene: &Scene<'_>, sum: &Sum<'_>) -> Option<Pattern> {
    let length = sum.length;
    let known = |i: &&usize| scene.candidate[**i].is_finite();
    let probes: Vec<usize> = scene.probes.iter().filter(known).copied().collect();
    if !(3..=WINDOWS).contains(&length)
        || probes.len() < 4
        || !scene.tells_after(length * length, 1)
    {
        return None;
    }
    let sums: Vec<Vec<f64>> = probes
        .iter()
        .map(|&i| {
            let mut total = 0.0;
            let each = (0..length).map(|k| {
                total += sum.term(i, k);
                total
            });
            std::iter::once(0.0).chain(each).collect()
        })
        .collect();
    let more = |at: usize| scene.candidate[probes[at]] - scene.expected[probes[at]];
    let fits = |from: usize, to: usize| {
        let part = |at: usize| sums[at][to] - sums[at][from];
        let factor = more(0) / part(0);
        let near = |at: usize| {
            let i = probes[at];
            scene.fits(i, scene.expected[i] + factor * part(at))
        };
        (factor.is_finite() && (1..probes.len()).all(near)).then_some(factor)
    };
    let ends = (1..length).flat_map(|cut| [(cut, length), (0, cut)]);
    let singles = (0..length).map(|k| (k, k + 1));
    let rest = (1..length).flat_map(|from| (from + 2..length).map(move |to| (from, to)));
    ends.chain(singles).chain(rest).find_map(|(from, to)| {
        let factor = fits(from, to)?;
        let mut weights = vec![1.0; length];
        weights[from..to].fill(1.0 + factor);
        let weights: Vec<f64> = weights
            .into_iter()
            .map(|w: f64| if (w - w.round()).abs() < 1e-3 { w.round() } else { w })
            .collect();
        scene.try_numbers(
            |i| {
                let part: f64 = (from..to).map(|k| sum.term(i, k)).sum();
                scene.expected[i] + (weights[from] - 1.0) * part
            },
            || words::of_weights(scene, &weights, sum.over).unwrap_or_default(),
        )
    })
}
