//! Sums that leave some of their terms out, or add them twice: every subset that a loop, a tile or a
//! stride cuts out.

use tensor::{Loss, TensorName};

use super::formula::Formula;
use super::weights::of_weights;
use super::{Pattern, Scene, hypothesis};
use crate::describe::place::TILES;
use crate::numeric::prefix_sums;

/// The longest stride that is looked for.
const MAX_STRIDE: usize = 64;
/// In a sum of more terms than this, only ranges at its ends and single terms are tried.
const MAX_LENGTH_FOR_RANGES: usize = 3000;
/// In a sum of more terms than this, ranges with another weight are not looked for.
const MAX_LENGTH_FOR_WEIGHTS: usize = 800;

/// Some of the terms of a sum, by their indices: of each `tile` of them those in a range, or all but those.
#[derive(Clone, Copy)]
pub(super) struct Subset {
    tile: usize,
    from: usize,
    to: usize,
    all_but: bool,
}

impl Subset {
    const fn of_each(tile: usize, from: usize, to: usize) -> Self {
        Self { tile, from, to, all_but: false }
    }

    /// A range of all terms, which are one tile.
    pub(super) const fn range((from, to): (usize, usize)) -> Self {
        Self::of_each(usize::MAX, from, to)
    }

    fn contains(self, k: usize) -> bool {
        (self.from..self.to).contains(&(k % self.tile)) != self.all_but
    }

    /// The sum of these terms, of `length` terms.
    pub(super) fn sum(self, length: usize, term: impl Fn(usize) -> f64) -> f64 {
        if self.tile == usize::MAX {
            return (self.from..self.to).map(term).sum();
        }
        (0..length).filter(|&k| self.contains(k)).map(term).sum()
    }

    /// The subset of `length` terms that corresponds to this one of `own` terms; a range may be counted from the end.
    pub(super) fn at_length(self, own: usize, length: usize, from_end: bool) -> Self {
        let moved = |at: usize| (at + length).saturating_sub(own);
        let (from, to) = (self.from, self.to);
        match self.tile {
            usize::MAX if from_end => Self::range((moved(from), moved(to))),
            usize::MAX if to == own => Self::range((from.min(length), length)),
            usize::MAX => Self::range((from.min(length), to.min(length))),
            _ => self,
        }
    }

    /// The weights of `length` terms, if these have one weight and all others count once.
    pub(super) fn weights(self, length: usize, weight: f64) -> Vec<f64> {
        (0..length).map(|k| if self.contains(k) { weight } else { 1.0 }).collect()
    }

    /// The subsets of `length` terms that loops and tiles cut out, except ranges, in families, the simplest first.
    pub(super) fn families(length: usize) -> [Vec<Self>; 4] {
        let ends = [(0, 1), (length - 1, length), (1, length), (0, length - 1)].map(Self::range);
        let tiles = TILES.into_iter().filter(|&tile| tile < length).flat_map(|tile| {
            let whole = length / tile * tile;
            let last = if whole == length { length - tile } else { whole };
            [(last, length), (0, tile), (tile, length), (0, last)].map(Self::range)
        });
        let strides = (2..(MAX_STRIDE + 1).min(length))
            .flat_map(|step| (0..step).map(move |from| (step, from)))
            // One or two terms are no stride.
            .filter(|(step, from)| from + 2 * step < length)
            .map(|(step, from)| Self::of_each(step, from, from + 1))
            .flat_map(|every| [every, Self { all_but: true, ..every }])
            // All but one in two are one in two.
            .filter(|subset| !(subset.all_but && subset.tile == 2));
        let parts = (3..=16)
            .chain([32, 64])
            .filter(|&tile| tile < length)
            .flat_map(|tile| (1..tile).map(move |cut| (tile, cut)))
            .flat_map(|(tile, cut)| [(tile, cut, tile), (tile, 0, cut)])
            .map(|(tile, from, to)| Self::of_each(tile, from, to));
        [ends.into(), tiles.collect(), strides.collect(), parts.collect()]
    }
}

/// Every range of `length` terms, the simplest first: those that reach to an end, single terms, and, if `all` is set,
/// the rest.
pub(super) fn ranges(length: usize, all: bool) -> impl Iterator<Item = (usize, usize)> {
    let ends = (1..length).flat_map(move |cut| [(cut, length), (0, cut)]);
    let singles = (0..length).map(|k| (k, k + 1));
    let rest = (0..if all { length } else { 0 })
        .flat_map(move |from| (from + 2..length).map(move |to| (from, to)));
    ends.chain(singles).chain(rest)
}

/// Some of the terms left out, or added twice.
pub(super) fn subsets(scene: &Scene<'_>) -> Option<Pattern> {
    let is_output = scene.name == TensorName::P;
    Terms::of(scene, |terms| {
        let found = terms.group(scene).or_else(|| terms.search(scene));
        found.or_else(|| if is_output { terms.weighted_range(scene) } else { None })
    })
}

/// A range of terms with any weight.
pub(super) fn weighted_range(scene: &Scene<'_>) -> Option<Pattern> {
    Terms::of(scene, |terms| terms.weighted_range(scene))
}

/// The terms of the sums that make a tensor.
struct Terms<'a> {
    length: usize,
    /// The noun of the terms, in the plural.
    over: &'static str,
    /// A term of an element.
    term: &'a dyn Fn(usize, usize) -> f64,
    /// An element, from the sum of the terms that are left out. If terms are added twice, this sum is negative.
    predict: &'a dyn Fn(usize, f64) -> f64,
    /// The sum of the terms that are left out, from the element.
    left_out: &'a dyn Fn(usize) -> f64,
}

impl Terms<'_> {
    /// The terms of a sum of products, or those below softmax's line: there an element is the right value over one
    /// minus the part of its row that is left out.
    fn of(scene: &Scene<'_>, search: impl Fn(&Terms<'_>) -> Option<Pattern>) -> Option<Pattern> {
        let (held, right) = (scene.candidate, scene.expected);
        if scene.name != TensorName::P {
            let sum = Formula::sum(scene)?;
            return search(&Terms {
                length: sum.length,
                over: sum.over,
                term: &|i, k| sum.term(i, k),
                predict: &|i, part| right[i] - part,
                left_out: &|i| right[i] - held[i],
            });
        }
        let length = scene.chain.outputs();
        let terms = Terms {
            length,
            over: "classes of the sum below",
            term: &|i, k| right[i / length * length + k],
            predict: &|i, part| right[i] / (1.0 - part),
            left_out: &|i| 1.0 - right[i] / held[i],
        };
        if scene.chain.losses() == [Loss::CrossEntropy] { search(&terms) } else { None }
    }

    /// Softmax that divides each class by the sum over a group of adjacent classes, instead of over all classes.
    fn group(&self, scene: &Scene<'_>) -> Option<Pattern> {
        let tiles = TILES.into_iter().filter(|&tile| tile < self.length);
        let tiles = tiles.filter(|_| scene.name == TensorName::P);
        let groups = tiles.map(|tile| {
            let text =
                format!("each class is divided by the sum of only its group, in groups of {tile}");
            hypothesis(text, move |i| {
                let from = i % self.length / tile * tile;
                let group = from..(from + tile).min(self.length);
                scene.expected[i] / group.map(|k| (self.term)(i, k)).sum::<f64>()
            })
        });
        scene.first(groups)
    }

    /// Tries the hypothesis that a subset has this weight.
    fn weighted(&self, scene: &Scene<'_>, subset: Subset, weight: f64) -> Option<Pattern> {
        let part = |i: usize| subset.sum(self.length, |k| (self.term)(i, k));
        scene.try_numbers(
            |i| (self.predict)(i, (1.0 - weight) * part(i)),
            || {
                let weights = subset.weights(self.length, weight);
                of_weights(scene, &weights, self.over).unwrap_or_default()
            },
        )
    }

    /// Tries to leave out each subset, and to add it twice, the simplest first.
    fn search(&self, scene: &Scene<'_>) -> Option<Pattern> {
        if self.length < 2 {
            return None;
        }
        let families = Subset::families(self.length).into_iter();
        let mut families = families.filter(|subsets| scene.tells(2 * subsets.len()));
        let found = families.find_map(|subsets| {
            let mut both = subsets.into_iter().flat_map(|subset| [(subset, 0.0), (subset, 2.0)]);
            both.find_map(|(subset, weight)| self.weighted(scene, subset, weight))
        });
        let all = self.length <= MAX_LENGTH_FOR_RANGES;
        let tells = || scene.tells(self.length * if all { self.length } else { 4 });
        found.or_else(|| if tells() { self.range(scene, all, |_| vec![0.0, 2.0]) } else { None })
    }

    /// The range that explains every probe by one of the weights for its part of the first probe.
    fn range(
        &self,
        scene: &Scene<'_>,
        all: bool,
        weights: impl Fn(f64) -> Vec<f64>,
    ) -> Option<Pattern> {
        let prefix = |&i: &usize| (i, prefix_sums((0..self.length).map(|k| (self.term)(i, k))));
        let prefixes: Vec<(usize, Vec<f64>)> = scene.probes.iter().map(prefix).collect();
        ranges(self.length, all).find_map(|(from, to)| {
            let part = |sums: &[f64]| sums[to] - sums[from];
            let fits = |weight: f64| {
                let made = |i, sums| (self.predict)(i, (1.0 - weight) * part(sums));
                prefixes.iter().all(|(i, sums)| scene.fits(*i, made(*i, sums)))
            };
            let weight = weights(part(&prefixes.first()?.1)).into_iter().find(|&w| fits(w))?;
            let near = weight.round();
            let weight = if (weight - near).abs() < 1e-3 { near } else { weight };
            self.weighted(scene, Subset::range((from, to)), weight)
        })
    }
    fn weighted_range(&self, scene: &Scene<'_>) -> Option<Pattern> {
        let &first = scene.probes.iter().find(|&&i| scene.candidate[i].is_finite())?;
        let known = scene.probes.len() >= 4 && scene.tells_after(self.length * self.length, 1);
        let short = (3..=MAX_LENGTH_FOR_WEIGHTS).contains(&self.length);
        let weight = |part: f64| vec![1.0 - (self.left_out)(first) / part];
        if known && short { self.range(scene, true, weight) } else { None }
    }
}
