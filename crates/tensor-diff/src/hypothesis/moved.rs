//! Operands that are read at another place than the right one, and another tensor in the place of an
//! operand; with a factor on top, where there is one.

use super::Scene;
use super::formula::{Formula, Swap};
use super::index::{Map, Operand};
use super::numbers::number;
use crate::pattern::Pattern;

/// A sum of more terms than this is not done again for every factor.
const SHORT: usize = 100_000;

pub(super) fn read_elsewhere(scene: &Scene<'_>) -> Option<Pattern> {
    by_formula(scene, false)
}

/// The same with a factor that nobody knows beforehand.
pub(super) fn read_elsewhere_and_scaled(scene: &Scene<'_>) -> Option<Pattern> {
    by_formula(scene, true)
}

fn by_formula(scene: &Scene<'_>, scaled: bool) -> Option<Pattern> {
    let found = Formula::of(scene).and_then(|formula| search(scene, &formula, scaled));
    found.or_else(|| search(scene, &Formula::same(scene), scaled))
}

fn search(scene: &Scene<'_>, formula: &Formula<'_>, scaled: bool) -> Option<Pattern> {
    let own: Vec<(usize, Vec<Map>)> =
        formula.operands.iter().map(Operand::maps).enumerate().collect();
    let members: usize = own.iter().map(|(_, maps)| maps.len()).sum();
    if !scene.tells_after(members, usize::from(scaled)) || members > SHORT {
        return None;
    }
    if scaled {
        // The right operands and a factor.
        let found = attempt(scene, formula, &[], true, &|| String::new());
        if found.is_some() {
            return found;
        }
    }
    for (place, maps) in own {
        let operand = &formula.operands[place];
        for map in maps {
            let words = || operand.words(map, &|axis| formula.counts(axis));
            let swap = Swap { place, operand, map };
            let found = attempt(scene, formula, &[swap], scaled, &words);
            if found.is_some() {
                return found;
            }
            if let Some(places) = formula.together().filter(|places| places[0] == place) {
                let other = &formula.operands[places[1]];
                // The same rows, above and below.
                let both = [swap, Swap { place: places[1], operand: other, map }];
                let found = attempt(scene, formula, &both, scaled, &words);
                if found.is_some() {
                    return found;
                }
            }
        }
    }
    others(scene, formula, scaled)
}

/// Another tensor in the place of an operand.
fn others(scene: &Scene<'_>, formula: &Formula<'_>, scaled: bool) -> Option<Pattern> {
    let tensors = scene.tensors();
    for (place, operand) in formula.operands.iter().enumerate() {
        for (text, _, earlier, values) in &tensors {
            if !earlier && *text == operand.name || values.len() < 2 {
                continue;
            }
            let other = Operand { name: text.clone(), values, ..operand.clone() };
            for map in [Map::Right, Map::Transposed] {
                let words = || {
                    let how =
                        if map == Map::Right { "" } else { ", as if it were stored transposed" };
                    format!("{text} is read in place of {}{how}", operand.name)
                };
                let swap = Swap { place, operand: &other, map };
                let found = attempt(scene, formula, &[swap], scaled, &words);
                if found.is_some() {
                    return found;
                }
            }
        }
    }
    None
}

/// One hypothesis: it is refused by its first element in nearly every case.
fn attempt(
    scene: &Scene<'_>,
    formula: &Formula<'_>,
    swaps: &[Swap<'_>],
    scaled: bool,
    words: &dyn Fn() -> String,
) -> Option<Pattern> {
    if !scaled {
        return scene.try_numbers(
            |i| {
                let (base, rest) = formula.made(i, swaps);
                base + rest
            },
            words,
        );
    }
    let &first = scene.probes.iter().find(|&&i| scene.candidate[i].is_finite())?;
    let (base, rest) = formula.made(first, swaps);
    let factor = (scene.candidate[first] - base) / rest;
    if !factor.is_finite() || (factor - 1.0).abs() < 1e-6 || factor.abs() < 1e-4 {
        return None;
    }
    scene.try_numbers(
        |i| {
            let (base, rest) = formula.made(i, swaps);
            base + factor * rest
        },
        || {
            let times =
                format!("{} is {} times what it should be", formula.rest, number(scene, factor));
            let how = words();
            if how.is_empty() { times } else { format!("{how}, and {times}") }
        },
    )
}
