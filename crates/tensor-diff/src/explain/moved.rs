//! Operands that are read at another place than the right one, and another tensor in the place of an
//! operand; with a factor on top, where there is one.

use super::Pattern;
use super::Scene;
use super::formula::{Formula, Swap};
use super::index::{Map, Operand};
use super::numbers::number;

/// More ways to misread than this are too many to try.
const MEMBERS: usize = 100_000;

pub(super) fn read_elsewhere(scene: &Scene<'_>) -> Option<Pattern> {
    by_formula(scene, false)
}

/// The same with a factor that nobody knows beforehand.
pub(super) fn read_elsewhere_and_scaled(scene: &Scene<'_>) -> Option<Pattern> {
    by_formula(scene, true)
}

fn by_formula(scene: &Scene<'_>, scaled: bool) -> Option<Pattern> {
    let found = Formula::of(scene).and_then(|formula| search(scene, &formula, scaled, 0));
    found.or_else(|| search(scene, &Formula::same(scene), scaled, 1))
}

/// Base and rest of two elements by one way to misread an operand: nearly every way is refused by them.
#[derive(Clone, Copy)]
pub(super) struct First {
    place: usize,
    map: Map,
    /// Where the second operand is the first, whether it is misread as well.
    both: bool,
    made: [(f64, f64); 2],
}

/// The two elements, where there are two.
fn two_probes(scene: &Scene<'_>) -> Option<[usize; 2]> {
    let mut known = scene.probes.iter().copied().filter(|&i| scene.candidate[i].is_finite());
    let first = known.next()?;
    Some([first, known.next().unwrap_or(first)])
}

fn firsts(formula: &Formula<'_>, probes: [usize; 2]) -> Vec<First> {
    let mut all = Vec::new();
    for (place, operand) in formula.operands.iter().enumerate() {
        for map in operand.maps() {
            let both = formula.together().is_some_and(|places| places[0] == place);
            for both in [false, true].into_iter().take(1 + usize::from(both)) {
                let mut first = First { place, map, both, made: [(f64::NAN, f64::NAN); 2] };
                let swaps = first.swaps(formula);
                first.made = probes.map(|i| formula.made(i, &swaps));
                all.push(first);
            }
        }
    }
    all
}

impl First {
    fn swaps<'f>(self, formula: &'f Formula<'f>) -> Vec<Swap<'f>> {
        let swap = |place: usize| Swap { place, operand: &formula.operands[place], map: self.map };
        match formula.together().filter(|_| self.both) {
            Some(places) => places.map(swap).to_vec(),
            None => vec![swap(self.place)],
        }
    }

    /// Whether both elements may be made so.
    fn may_be(self, scene: &Scene<'_>, probes: [usize; 2], scaled: bool) -> bool {
        let (base, rest) = self.made[0];
        let factor = if scaled { (scene.candidate[probes[0]] - base) / rest } else { 1.0 };
        probes.into_iter().zip(self.made).all(|(i, (base, rest))| {
            let made = base + factor * rest;
            made.is_nan() || scene.fits(i, made)
        })
    }
}

fn search(scene: &Scene<'_>, formula: &Formula<'_>, scaled: bool, which: usize) -> Option<Pattern> {
    let members: usize = formula.operands.iter().map(|operand| operand.maps().len()).sum();
    if !scene.tells_after(members, usize::from(scaled)) || members > MEMBERS {
        return None;
    }
    if scaled {
        // The right operands and a factor.
        let found = attempt(scene, formula, &[], true, &String::new);
        if found.is_some() {
            return found;
        }
    }
    let probes = two_probes(scene)?;
    let all = scene.firsts[which].get_or_init(|| firsts(formula, probes));
    let found = all.iter().filter(|first| first.may_be(scene, probes, scaled)).find_map(|first| {
        let operand = &formula.operands[first.place];
        let words = || operand.words(first.map, &|axis| formula.counts(axis));
        attempt(scene, formula, &first.swaps(formula), scaled, &words)
    });
    found.or_else(|| others(scene, formula, scaled))
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
