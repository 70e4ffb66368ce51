//! Operands that are read from the wrong place, left out, or replaced by another tensor; and results that are written
//! to the wrong place. In addition, there may be one factor.

use super::formula::{Formula, Swap};
use super::index::Map;
use super::numbers::number;
use super::{Pattern, Scene};
use crate::numeric::sign;

/// A formula with more ways to misread its operands than this is not searched.
const MAX_WAYS: usize = 100_000;

/// The usual ways to misread an operand, and any other tensor in its place.
pub(super) fn usual(scene: &Scene<'_>) -> Option<Pattern> {
    let formula = &Formula::new(scene)?;
    let sizes = scene.sizes();
    let mut all: Vec<(Vec<Swap<'_>>, String)> = Vec::new();
    for places in formula.places() {
        let operand = &formula.operands[places[0]];
        let left_out = (places[0] < formula.factors()).then_some(Map::LeftOut);
        for map in left_out.into_iter().chain(operand.usual_maps(&sizes)) {
            let words = operand.words(map, &|axis| formula.axis_name(axis));
            all.push((formula.misread(&places, map), words));
        }
        let (rows, columns) = (operand.rows, operand.columns);
        for (text, other, earlier, values) in scene.tensors() {
            let swap = |map| places.iter().map(|&place| Swap { place, values, map }).collect();
            if values.len() >= rows * columns && (!operand.is(&text) || earlier) {
                let part = if values.len() == rows * columns { "" } else { "the beginning of " };
                let words = format!("{part}{text} is read in place of {}", operand.name);
                all.push((swap(Map::Right), words));
            }
            // The beginnings of longer rows.
            if let Some(&[own_rows, longer]) = scene.chain.shape(other).as_deref()
                && own_rows >= rows
                && longer > columns
            {
                let words = format!(
                    "{text} is read in place of {}, of each row the first {columns}",
                    operand.name
                );
                all.push((swap(Map::Stride(longer)), words));
            }
        }
    }
    if !scene.tells(all.len()) {
        return None;
    }
    let mut all = all.into_iter();
    all.find_map(|(swaps, words)| scene.try_numbers(|i| formula.total(i, &swaps), || words))
}

/// Any way to misread an operand, or to write the result to the wrong place.
pub(super) fn in_any_way(scene: &Scene<'_>) -> Option<Pattern> {
    by_formula(scene, false)
}

/// Any way to misread an operand or misplace the result, with an unknown factor.
pub(super) fn in_any_way_and_scaled(scene: &Scene<'_>) -> Option<Pattern> {
    by_formula(scene, true)
}

fn by_formula(scene: &Scene<'_>, scaled: bool) -> Option<Pattern> {
    let found = Formula::new(scene).and_then(|formula| search(scene, &formula, scaled, 0));
    found.or_else(|| search(scene, &Formula::same(scene), scaled, 1))
}

/// The base and the rest of two elements under one way to misread an operand: enough to refuse nearly every way.
pub(super) struct First {
    places: Vec<usize>,
    map: Map,
    made: [(f64, f64); 2],
}

/// Two probes; the same one twice if only one is finite.
fn two_probes(scene: &Scene<'_>) -> Option<[usize; 2]> {
    let mut known = scene.probes.iter().copied().filter(|&i| scene.candidate[i].is_finite());
    let first = known.next()?;
    Some([first, known.next().unwrap_or(first)])
}

fn firsts(formula: &Formula<'_>, probes: [usize; 2]) -> Vec<First> {
    let mut all = Vec::new();
    for places in formula.places() {
        let left_out = (places[0] < formula.factors()).then_some(Map::LeftOut);
        for map in formula.operands[places[0]].maps().into_iter().chain(left_out) {
            let swaps = formula.misread(&places, map);
            let made = probes.map(|i| formula.made(i, &swaps));
            all.push(First { places: places.clone(), map, made });
        }
    }
    all
}

impl First {
    /// Whether the prediction of both elements fits.
    fn fits(&self, scene: &Scene<'_>, probes: [usize; 2], scaled: bool) -> bool {
        let (base, rest) = self.made[0];
        let factor = if scaled { (scene.candidate[probes[0]] - base) / rest } else { 1.0 };
        probes.into_iter().zip(self.made).all(|(i, (base, rest))| {
            let made = base + factor * rest;
            made.is_nan() || scene.fits(i, made)
        })
    }
}

fn search(scene: &Scene<'_>, formula: &Formula<'_>, scaled: bool, which: usize) -> Option<Pattern> {
    let places = formula.places();
    let ways: usize = places.iter().map(|places| formula.operands[places[0]].maps().len()).sum();
    if !scene.tells_after(ways.max(1), usize::from(scaled)) || ways > MAX_WAYS {
        return None;
    }
    // The right operands and a factor.
    let factor = if scaled { attempt(scene, formula, &[], true, String::new) } else { None };
    if factor.is_some() {
        return factor;
    }
    let probes = two_probes(scene)?;
    let all = scene.firsts[which].get_or_init(|| firsts(formula, probes));
    let found = all.iter().filter(|first| first.fits(scene, probes, scaled)).find_map(|first| {
        let operand = &formula.operands[first.places[0]];
        let words = || operand.words(first.map, &|axis| formula.axis_name(axis));
        attempt(scene, formula, &formula.misread(&first.places, first.map), scaled, words)
    });
    found.or_else(|| others(scene, formula, scaled))
}

/// Another tensor in the place of an operand.
fn others(scene: &Scene<'_>, formula: &Formula<'_>, scaled: bool) -> Option<Pattern> {
    let tensors = scene.tensors();
    let ways = formula.operands.iter().enumerate().flat_map(|(place, operand)| {
        let other = tensors.iter().filter(|(text, _, earlier, values)| {
            (*earlier || !operand.is(text)) && values.len() > 1
        });
        other.flat_map(move |(text, .., values)| {
            [Map::Right, Map::Transposed].map(|map| (operand, text, Swap { place, values, map }))
        })
    });
    ways.into_iter().find_map(|(operand, text, swap)| {
        let how = if swap.map == Map::Right { "" } else { ", as if it were stored transposed" };
        let words = || format!("{text} is read in place of {}{how}", operand.name);
        attempt(scene, formula, &[swap], scaled, words)
    })
}

/// A function that is applied to an operand by mistake; `#` is the operand's name.
type Altered = (&'static str, fn(f64) -> f64);

const ALTERED: [Altered; 6] = [
    ("the magnitude of # is taken for #", f64::abs),
    ("the square of # is taken for #", |x| x * x),
    ("relu of # is taken for #", |x| x.max(0.0)),
    ("the negative part of # is taken for #", |x| x.min(0.0)),
    ("the sign of # is taken for #", sign),
    ("# is left out of the product", |_| 1.0),
];

/// Functions of operands in their place: of one, or of both factors of a sum.
pub(super) fn altered(scene: &Scene<'_>) -> Option<Pattern> {
    let formula = &Formula::new(scene)?;
    let values = ALTERED.map(|(_, of)| -> Vec<Vec<f64>> {
        formula.operands.iter().map(|one| one.values.iter().map(|&x| of(x)).collect()).collect()
    });
    let mut ways: Vec<Vec<(usize, usize)>> = Vec::new();
    for places in formula.places() {
        // Only a factor can be left out.
        let count = ALTERED.len() - usize::from(places[0] >= formula.factors());
        ways.extend((0..count).map(|how| places.iter().map(|&place| (place, how)).collect()));
    }
    if formula.factors() == 2 {
        let pairs = (0..ALTERED.len()).flat_map(|a| (0..ALTERED.len()).map(move |b| (a, b)));
        ways.extend(pairs.map(|(a, b)| vec![(0, a), (1, b)]));
    }
    let one = |way: &[(usize, usize)], scaled: bool| {
        let swap = |&(place, how): &(usize, usize)| Swap {
            place,
            values: &values[how][place],
            map: Map::Right,
        };
        let swaps: Vec<Swap<'_>> = way.iter().map(swap).collect();
        let words = || {
            let text = |&(place, how): &(usize, usize)| {
                ALTERED[how].0.replace('#', &formula.operands[place].name)
            };
            let mut texts: Vec<String> = way.iter().map(text).collect();
            texts.dedup();
            texts.join(" and ")
        };
        attempt(scene, formula, &swaps, scaled, words)
    };
    let tried = |&scaled: &bool| scene.tells_after(ways.len(), usize::from(scaled));
    let mut scaled = [false, true].into_iter().filter(tried);
    scaled.find_map(|scaled| ways.iter().find_map(|way| one(way, scaled)))
}

/// One hypothesis, with a factor or without.
fn attempt(
    scene: &Scene<'_>,
    formula: &Formula<'_>,
    swaps: &[Swap<'_>],
    scaled: bool,
    words: impl FnOnce() -> String,
) -> Option<Pattern> {
    if !scaled {
        return scene.try_numbers(|i| formula.total(i, swaps), words);
    }
    scene.try_scaled(
        |i| formula.made(i, swaps),
        |factor| {
            let factor = number(scene, factor);
            let times = format!("{} is {factor} times what it should be", formula.rest);
            let how = words();
            if how.is_empty() { times } else { format!("{how}, and {times}") }
        },
    )
}
