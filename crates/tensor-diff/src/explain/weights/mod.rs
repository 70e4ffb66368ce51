//! The weight with which each term entered a sum: solved for by least squares over the elements that share
//! it, then described in words. If there are more terms than elements, terms that a loop, a tile or a sign
//! treats alike share a weight.

mod term;
mod words;

use tensor::TensorName;

use super::formula::Formula;
use super::numbers::number;
use super::solve::least_squares;
use super::terms::weighted_range;
use super::{Pattern, Scene};
use crate::describe::place::TILES;
use crate::numeric::unique;
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

/// The elements that make equations, each with the terms of its sum: in a part of the tensor, only wrong ones.
fn equations(scene: &Scene<'_>, sum: &Formula<'_>) -> Vec<(usize, Vec<f64>)> {
    let pool: Vec<usize> = if scene.in_part {
        scene.known_wrong(usize::MAX)
    } else {
        (0..scene.candidate.len()).filter(|&i| scene.candidate[i].is_finite()).collect()
    };
    let mut step = pool.len().div_ceil(MAX_EQUATIONS).max(1);
    // If the step divided the length of a row, it would only meet the elements of a few columns.
    if step > 1 && scene.rows_and_columns().1.is_multiple_of(step) {
        step += 1;
    }
    pool.into_iter().step_by(step).map(|i| (i, sum.terms(i).collect())).collect()
}

/// Solves for the weights of groups of terms: each term, those whose distances are multiples of a period, and chunks.
fn solved(scene: &Scene<'_>, sum: &Formula<'_>) -> Option<Pattern> {
    let (n, equations) = (sum.length, equations(scene, sum));
    let periods = (2..=64).filter(|period| 2 * period <= n);
    let chunks = (2..=8).map(|chunks| n.div_ceil(chunks));
    let tiles = unique(TILES.into_iter().chain(chunks)).into_iter();
    let tiles = tiles.filter(|&tile| 1 < tile && tile < n);
    let mut groupings = vec![Grouping::by_number(n, |k| k)];
    groupings.extend(periods.map(|period| Grouping::by_number(period, move |k| k % period)));
    groupings.extend(tiles.map(|tile| Grouping::by_number(n.div_ceil(tile), move |k| k / tile)));
    groupings.extend(by_place(scene, sum));
    groupings.into_iter().find_map(|grouping| by_groups(scene, sum, &equations, &grouping))
}

fn by_groups(
    scene: &Scene<'_>,
    sum: &Formula<'_>,
    equations: &[(usize, Vec<f64>)],
    grouping: &Grouping<'_>,
) -> Option<Pattern> {
    let groups = grouping.groups;
    let unknowns = groups + usize::from(sum.bias().is_some());
    // Half as many elements again have to confirm the weights.
    if equations.len() < unknowns + unknowns / 2 + 6 {
        return None;
    }
    // The terms of each group, the bias, and the result.
    let row = |(i, terms): &(usize, Vec<f64>)| {
        let weight = scene.weight(*i, scene.expected[*i]);
        let mut row = vec![0.0; unknowns + 1];
        for (k, term) in terms.iter().enumerate() {
            row[(grouping.of)(*i, k)] += weight * term;
        }
        if unknowns > groups {
            row[groups] = weight * sum.base_of(*i);
        }
        row[unknowns] = weight * scene.candidate[*i];
        row
    };
    let mut rows: Vec<Vec<f64>> = equations.iter().map(row).collect();
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

/// The group of term `k` of element `i`.
struct Grouping<'a> {
    groups: usize,
    of: Box<dyn Fn(usize, usize) -> usize + 'a>,
    /// The words for the first of two groups; `None` if a term's number determines its group.
    first: Option<String>,
}

impl<'a> Grouping<'a> {
    fn by_number(groups: usize, of: impl Fn(usize) -> usize + 'a) -> Self {
        Self { groups, of: Box::new(move |_, k| of(k)), first: None }
    }

    /// The weights of all groups in words.
    fn words(&self, scene: &Scene<'_>, sum: &Formula<'_>, weights: &[f64]) -> Option<String> {
        let Some(first) = &self.first else {
            let each: Vec<f64> = (0..sum.length).map(|k| weights[(self.of)(0, k)]).collect();
            return of_weights(scene, &each, sum.over);
        };
        let &[own, others] = weights else { return None };
        let same = |a: f64, b: f64| (a - b).abs() < 1e-3;
        let verb = |weight: f64| match () {
            () if same(weight, 0.0) => "left out".into(),
            () if same(weight, 2.0) => "added twice".into(),
            () if same(weight, -1.0) => "subtracted, not added".into(),
            () => format!("counted {} times", number(scene, weight)),
        };
        match (same(own, 1.0), same(others, 1.0)) {
            (true, true) => None,
            (false, true) => Some(format!("{first}: {}", verb(own))),
            (true, false) => Some(format!("all but {first}: {}", verb(others))),
            (false, false) => Some(format!("{first}: {}; the others: {}", verb(own), verb(others))),
        }
    }
}

/// Two groups, by a term's index compared with its element's, or by its factors.
fn by_place<'a>(scene: &'a Scene<'a>, sum: &'a Formula<'a>) -> Vec<Grouping<'a>> {
    use TensorName::{Da, Db, Dw, Y};
    let (columns, one) = (sum.columns, sum.over.trim_end_matches('s'));
    let mut all: Vec<Grouping<'a>> = Vec::new();
    let mut add = |text: String, is_first: Box<dyn Fn(usize, usize) -> bool + 'a>| {
        let of = Box::new(move |i, k| usize::from(!is_first(i, k)));
        all.push(Grouping { groups: 2, of, first: Some(text) });
    };
    let operands = &sum.operands[..if sum.is_product() { 2 } else { 1 }];
    for (place, operand) in operands.iter().enumerate() {
        let text = format!("terms in which {} is below 0", operand.name);
        add(text, Box::new(move |i, k| sum.pair(i, k)[place] < 0.0));
    }
    if sum.is_product() {
        add("terms that are below 0".into(), Box::new(|i, k| sum.term(i, k) < 0.0));
    }
    // A mask from another tensor of an operand's shape.
    for (text, _, _, values) in scene.tensors() {
        for (place, operand) in operands.iter().enumerate() {
            if operand.name != text && values.len() == operand.values.len() {
                let text = format!("terms in which {text} is not above 0");
                add(text, Box::new(move |i, k| sum.factor(place, values, i, k) <= 0.0));
            }
        }
    }
    for what in ["row", "column"].into_iter().skip(usize::from(!sum.is_product())) {
        let at = move |i: usize| if what == "row" { i / columns } else { i % columns };
        let number = format!("the number of the {what}");
        add(format!("the {one} with {number}"), Box::new(move |i, k| k == at(i)));
        add(format!("{one}s before {number}"), Box::new(move |i, k| k < at(i)));
        add(format!("{one}s after {number}"), Box::new(move |i, k| k > at(i)));
        let even = move |i: usize, k: usize| (k + at(i)).is_multiple_of(2);
        add(format!("{one}s that make an even number with the {what}"), Box::new(even));
    }
    if let Some(y) = scene.chain.get(Y) {
        let (last, classes) = (scene.chain.layers(), scene.chain.outputs());
        let is = move |sample: usize, class: usize| y.get(sample * classes + class) == Some(&1.0);
        match scene.name {
            Da(l) if l + 1 == last => {
                add("the sample's own class".into(), Box::new(move |i, k| is(i / columns, k)));
            }
            Dw(l) if l == last => {
                add("samples of the row's class".into(), Box::new(move |i, k| is(k, i / columns)));
            }
            Db(l) if l == last => {
                add("samples of the element's class".into(), Box::new(move |i, k| is(k, i)));
            }
            _ => {}
        }
    }
    all
}
