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
/// The maximum length of a sum in which every range is tried; in longer sums, only ranges at the ends and single terms
/// are.
const MAX_LENGTH_FOR_RANGES: usize = 3000;
/// The maximum length of a sum in which ranges of terms with a wrong weight are searched for.
const MAX_LENGTH_FOR_WEIGHTS: usize = 800;

/// Some of the terms of a sum, by their indices: of each `tile` of them those in a range, or all but those.
#[derive(Clone, Copy)]
struct Subset {
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
    const fn range((from, to): (usize, usize)) -> Self {
        Self::of_each(usize::MAX, from, to)
    }

    fn contains(self, k: usize) -> bool {
        (self.from..self.to).contains(&(k % self.tile)) != self.all_but
    }

    /// The sum of these terms, of `length` terms.
    fn sum(self, length: usize, term: impl Fn(usize) -> f64) -> f64 {
        if self.tile == usize::MAX {
            return (self.from..self.to).map(term).sum();
        }
        (0..length).filter(|&k| self.contains(k)).map(term).sum()
    }

    /// The weights of `length` terms, if these have one weight and all others count once.
    fn weights(self, length: usize, weight: f64) -> Vec<f64> {
        (0..length).map(|k| if self.contains(k) { weight } else { 1.0 }).collect()
    }

    /// The subsets of `length` terms that loops and tiles cut out, except ranges, in families, the simplest first.
    fn families(length: usize) -> [Vec<Self>; 4] {
        let ends = [(0, 1), (length - 1, length), (1, length), (0, length - 1)].map(Self::range);
        let tiles = TILES.into_iter().filter(|&tile| tile < length).flat_map(|tile| {
            let whole = length / tile * tile;
            let last = if whole == length { length - tile } else { whole };
            [(last, length), (0, tile), (tile, length), (0, last)].map(Self::range)
        });
        let strides = (2..(MAX_STRIDE + 1).min(length))
            .flat_map(|step| (0..step).map(move |from| (step, from)))
            // One or two terms are too few for a stride.
            .filter(|(step, from)| from + 2 * step < length)
            .map(|(step, from)| Self::of_each(step, from, from + 1))
            .flat_map(|every| [every, Self { all_but: true, ..every }])
            // With a stride of 2, leaving out every other term is the same as adding only every other term.
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
fn ranges(length: usize, all: bool) -> impl Iterator<Item = (usize, usize)> {
    let ends = (1..length).flat_map(move |cut| [(cut, length), (0, cut)]);
    let singles = (0..length).map(|k| (k, k + 1));
    let rest = (0..if all { length } else { 0 })
        .flat_map(move |from| (from + 2..length).map(move |to| (from, to)));
    ends.chain(singles).chain(rest)
}

/// Tries sums in which some of the terms are left out, or added twice.
pub(super) fn subsets(scene: &Scene<'_>) -> Option<Pattern> {
    let terms = Terms::new(scene)?;
    let found = terms.group(scene).or_else(|| terms.search(scene, &[0.0, 2.0], false));
    let is_output = scene.name == TensorName::P;
    found.or_else(|| if is_output { terms.weighted_range(scene) } else { None })
}

/// Tries sums in which a range of terms has any weight.
pub(super) fn weighted_range(scene: &Scene<'_>) -> Option<Pattern> {
    Terms::new(scene)?.weighted_range(scene)
}

/// The terms of the sums that make a tensor.
pub(super) struct Terms<'a> {
    pub(super) length: usize,
    /// The noun of the terms, in the plural.
    pub(super) over: &'static str,
    /// Returns term `k` of element `i`.
    pub(super) term: Box<dyn Fn(usize, usize) -> f64 + 'a>,
    /// Computes element `i` from the sum of the terms that are left out. If terms are added twice, this sum is
    /// negative.
    pub(super) predict: Box<dyn Fn(usize, f64) -> f64 + 'a>,
    /// Computes the sum of the terms that are left out from element `i` of the candidate.
    pub(super) left_out: Box<dyn Fn(usize) -> f64 + 'a>,
}

impl<'a> Terms<'a> {
    /// The terms of a sum of products, or of softmax's denominator. If terms of the denominator are left out, an
    /// element is its right value, divided by one minus the sum of the right values of the classes that are left out.
    fn new(scene: &'a Scene<'a>) -> Option<Self> {
        let (held, right) = (scene.candidate, scene.expected);
        if scene.name != TensorName::P {
            let sum = Formula::sum(scene)?;
            return Some(Self {
                length: sum.length,
                over: sum.over,
                term: Box::new(move |i, k| sum.term(i, k)),
                predict: Box::new(move |i, part| right[i] - part),
                left_out: Box::new(move |i| right[i] - held[i]),
            });
        }
        let length = scene.chain.outputs();
        (scene.chain.losses() == [Loss::CrossEntropy]).then(|| Self {
            length,
            over: "classes of the sum below",
            term: Box::new(move |i, k| right[i / length * length + k]),
            predict: Box::new(move |i, part| right[i] / (1.0 - part)),
            left_out: Box::new(move |i| 1.0 - right[i] / held[i]),
        })
    }

    /// Tries a softmax that divides each class by the sum over a group of adjacent classes, instead of over all
    /// classes.
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

    /// The weight that a part of the first probe has to have.
    fn weight_of(&self, scene: &Scene<'_>, part: f64) -> f64 {
        let first = scene.probes.iter().find(|&&i| scene.candidate[i].is_finite());
        first.map_or(f64::NAN, |&first| 1.0 - (self.left_out)(first) / part)
    }

    /// Tries the hypothesis that a subset has this weight, or any.
    fn weighted(&self, scene: &Scene<'_>, subset: Subset, weight: Option<f64>) -> Option<Pattern> {
        let part = |i: usize| subset.sum(self.length, |k| (self.term)(i, k));
        let fitted = || Some(self.weight_of(scene, part(*scene.probes.first()?)));
        let weight = weight.or_else(fitted).filter(|weight| (weight - 1.0).abs() > 1e-3)?;
        scene.try_numbers(
            |i| (self.predict)(i, (1.0 - weight) * part(i)),
            || {
                let weights = subset.weights(self.length, weight);
                of_weights(scene, &weights, self.over).unwrap_or_default()
            },
        )
    }

    /// Tries each subset with each of these weights and, if `any` is set, with the one that explains the first probe;
    /// the simplest subset first.
    pub(super) fn search(&self, scene: &Scene<'_>, usual: &[f64], any: bool) -> Option<Pattern> {
        if self.length < 2 {
            return None;
        }
        let weights = || usual.iter().copied().map(Some).chain(any.then_some(None));
        // If any weight may fit, each weight is its own family.
        let families = if any { 1 } else { usual.len() };
        let found = Subset::families(self.length).into_iter().find_map(|subsets| {
            weights().find_map(|weight| {
                let members = families * subsets.len();
                let tells = scene.tells_after(members, weight.is_none().into());
                let mut tried = subsets.iter().filter(|_| tells);
                tried.find_map(|&subset| self.weighted(scene, subset, weight))
            })
        });
        let most = if any { MAX_LENGTH_FOR_WEIGHTS } else { MAX_LENGTH_FOR_RANGES };
        let all = self.length <= most;
        let members = if any {
            ranges(self.length, all).count()
        } else {
            self.length * if all { self.length } else { 4 }
        };
        found.or_else(|| {
            weights().find_map(|weight| {
                let tried = |part| weight.unwrap_or_else(|| self.weight_of(scene, part));
                let tells = scene.tells_after(members, weight.is_none().into());
                if tells { self.range(scene, all, tried) } else { None }
            })
        })
    }

    /// The range that explains every probe by the weight for its part of the first probe.
    fn range(&self, scene: &Scene<'_>, all: bool, weight: impl Fn(f64) -> f64) -> Option<Pattern> {
        let prefix = |&i: &usize| (i, prefix_sums((0..self.length).map(|k| (self.term)(i, k))));
        let prefixes: Vec<(usize, Vec<f64>)> = scene.probes.iter().map(prefix).collect();
        ranges(self.length, all).find_map(|(from, to)| {
            let part = |sums: &[f64]| sums[to] - sums[from];
            let weight = weight(part(&prefixes.first()?.1));
            let made = |i, sums| (self.predict)(i, (1.0 - weight) * part(sums));
            if !prefixes.iter().all(|(i, sums)| scene.fits(*i, made(*i, sums))) {
                return None;
            }
            let near = weight.round();
            let weight = if (weight - near).abs() < 1e-3 { near } else { weight };
            self.weighted(scene, Subset::range((from, to)), Some(weight))
        })
    }

    fn weighted_range(&self, scene: &Scene<'_>) -> Option<Pattern> {
        let known = scene.probes.len() >= 4 && scene.tells_after(self.length * self.length, 1);
        let short = (3..=MAX_LENGTH_FOR_WEIGHTS).contains(&self.length);
        let weight = |part: f64| self.weight_of(scene, part);
        if known && short { self.range(scene, true, weight) } else { None }
    }
}
