//! Operands that are read from the wrong place, left out, or replaced by another tensor; and results that are written
//! to the wrong place. In addition, there may be one factor.

use super::formula::{Formula, Swap};
use super::index::Map;
use super::numbers::number;
use super::{Function, Pattern, Scene};
use crate::numeric::sign;

/// A formula with more ways to misread its operands than this is not searched.
const MAX_WAYS: usize = 100_000;

/// Tries another tensor in the place of an operand.
pub(super) fn exchanged(scene: &Scene<'_>) -> Option<Pattern> {
    let formula = Formula::new(scene)?;
    let ways = 3 * formula.operands.len() * scene.tensors().len();
    if scene.tells(ways) { others(scene, &formula, false) } else { None }
}

/// Tries every way to misread an operand, or to write the result to the wrong place; if `scaled`, with an unknown
/// factor.
pub(super) fn in_any_way(scene: &Scene<'_>, scaled: bool) -> Option<Pattern> {
    // All ways failed on the whole tensor before. One can hold in a part only if it failed just at right elements.
    if scene.in_part && !scene.changes_right.get() {
        return None;
    }
    let found = Formula::new(scene).and_then(|formula| search(scene, &formula, scaled));
    found.or_else(|| search(scene, &Formula::same(scene), scaled))
}

fn search(scene: &Scene<'_>, formula: &Formula<'_>, scaled: bool) -> Option<Pattern> {
    let ways = formula.places().into_iter().flat_map(|places| {
        let maps = formula.left_out(&places).into_iter().chain(formula.operands[places[0]].maps());
        maps.map(|map| (places.clone(), map)).collect::<Vec<_>>()
    });
    let ways: Vec<(Vec<usize>, Map)> = ways.collect();
    if !scene.tells_after(ways.len().max(1), usize::from(scaled)) || ways.len() > MAX_WAYS {
        return None;
    }
    // The right operands and a factor.
    let factor = if scaled { attempt(scene, formula, &[], true, String::new) } else { None };
    let misread = |(places, map): &(Vec<usize>, Map)| {
        let swaps = swaps(places, formula.operands[places[0]].values, *map);
        attempt(scene, formula, &swaps, scaled, || formula.words(places, *map))
    };
    factor.or_else(|| ways.iter().find_map(misread)).or_else(|| others(scene, formula, scaled))
}

/// A swap for each of the operands at `places`: `values`, read as `map` describes, take its place.
fn swaps<'a>(places: &[usize], values: &'a [f64], map: Map) -> Vec<Swap<'a>> {
    places.iter().map(|&place| Swap { place, values, map }).collect()
}

/// Tries another tensor in the place of an operand: as it is, its beginning, the beginnings of its rows, or transposed.
fn others(scene: &Scene<'_>, formula: &Formula<'_>, scaled: bool) -> Option<Pattern> {
    let tensors = scene.tensors();
    formula.places().into_iter().find_map(|places| {
        let operand = &formula.operands[places[0]];
        let size = operand.rows * operand.columns;
        tensors.iter().find_map(|(text, other, earlier, values)| {
            if !earlier && operand.is(text) || values.len() < 2 {
                return None;
            }
            let instead = format!("{text} is read in place of {}", operand.name);
            let part = if values.len() > size { "the beginning of " } else { "" };
            let longer = scene.chain.rows_and_columns(*other);
            let longer = longer.filter(|&(n, m)| n >= operand.rows && m > operand.columns);
            let rows = format!("{instead}, of each row the first {}", operand.columns);
            let turned = format!("{instead}, as if it were stored transposed");
            let ways = [
                (values.len() >= size).then(|| (Map::Right, format!("{part}{instead}"))),
                longer.map(|(_, m)| (Map::Stride(m), rows)),
                Some((Map::Transposed, turned)),
            ];
            ways.into_iter().flatten().find_map(|(map, text)| {
                attempt(scene, formula, &swaps(&places, values, map), scaled, || text)
            })
        })
    })
}

/// Functions that are applied to an operand by mistake; `#` is the operand's name.
const ALTERED: [Function; 6] = [
    ("the magnitude of # is taken for #", f64::abs),
    ("the square of # is taken for #", |x| x * x),
    ("relu of # is taken for #", |x| x.max(0.0)),
    ("the negative part of # is taken for #", |x| x.min(0.0)),
    ("the sign of # is taken for #", sign),
    ("# is left out of the product", |_| 1.0),
];

/// Hypotheses that one operand, or each of two factors, was replaced by a function of it, such as its absolute value.
pub(super) fn altered(scene: &Scene<'_>) -> Option<Pattern> {
    let formula = &Formula::new(scene)?;
    let values = ALTERED.map(|(_, of)| -> Vec<Vec<f64>> {
        formula.operands.iter().map(|one| one.values.iter().map(|&x| of(x)).collect()).collect()
    });
    let mut ways: Vec<Vec<(usize, usize)>> = Vec::new();
    for places in formula.places() {
        // Only a factor can be left out.
        let count = ALTERED.len() - usize::from(formula.left_out(&places).is_none());
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

/// Tests one hypothesis; if `scaled`, times a factor that is fitted.
fn attempt(
    scene: &Scene<'_>,
    formula: &Formula<'_>,
    swaps: &[Swap<'_>],
    scaled: bool,
    words: impl FnOnce() -> String,
) -> Option<Pattern> {
    let factor = (!scaled).then_some(1.0);
    scene.try_made(
        factor,
        |i| formula.made(i, swaps),
        |factor| {
            let how = words();
            let factor = number(scene, factor);
            let times = format!("{} is {factor} times what it should be", formula.rest);
            match (scaled, &how[..]) {
                (false, _) => how,
                (true, "") => times,
                (true, _) => format!("{how}, and {times}"),
            }
        },
    )
}
