//! Sums that leave some of their terms out, or add them twice: every subset that a loop, a tile or a
//! stride cuts out.

use tensor::{Loss, TensorName};

use super::formula::Sum;
use super::weights::of_weights;
use super::{Pattern, Scene, hypothesis};
use crate::describe::place::TILES;
use crate::numeric::prefix_sums;

/// The longest stride that is looked for.
const MAX_STRIDE: usize = 64;
/// In a sum of more terms than this, only ranges at its ends and single terms are tried.
const MAX_LENGTH_FOR_RANGES: usize = 3000;

/// Some of the terms of a sum, by their indices.
#[derive(Clone, Copy)]
pub(super) enum Subset {
    Range(usize, usize),
    Every {
        step: usize,
        from: usize,
    },
    AllBut {
        step: usize,
        from: usize,
    },
    /// Of each `tile` of them, those from one on and up to another.
    OfEach {
        tile: usize,
        from: usize,
        to: usize,
    },
}

impl Subset {
    pub(super) fn contains(self, k: usize) -> bool {
        match self {
            Self::Range(from, to) => (from..to).contains(&k),
            Self::Every { step, from } => k % step == from,
            Self::AllBut { step, from } => k % step != from,
            Self::OfEach { tile, from, to } => (from..to).contains(&(k % tile)),
        }
    }

    /// The sum of these terms, of `length` terms.
    pub(super) fn sum(self, length: usize, term: impl Fn(usize) -> f64) -> f64 {
        match self {
            Self::Range(from, to) => (from..to).map(term).sum(),
            Self::Every { step, from } => (from..length).step_by(step).map(term).sum(),
            _ => (0..length).filter(|&k| self.contains(k)).map(term).sum(),
        }
    }

    /// The subset of `length` terms that corresponds to this one of `own` terms; a range may be counted from the end.
    pub(super) fn at_length(self, own: usize, length: usize, from_end: bool) -> Self {
        match self {
            Self::Range(from, to) if from_end => {
                let moved = |at: usize| (at + length).saturating_sub(own);
                Self::Range(moved(from), moved(to))
            }
            Self::Range(from, to) if to == own => Self::Range(from.min(length), length),
            Self::Range(from, to) => Self::Range(from.min(length), to.min(length)),
            _ => self,
        }
    }

    /// The weights of `length` terms, if these have one weight and all others count once.
    pub(super) fn weights(self, length: usize, weight: f64) -> Vec<f64> {
        (0..length).map(|k| if self.contains(k) { weight } else { 1.0 }).collect()
    }

    /// The subsets of `length` terms that loops and tiles cut out, except ranges, in families, the simplest first.
    pub(super) fn families(length: usize) -> [Vec<Self>; 4] {
        let range = |(from, to)| Self::Range(from, to);
        let ends = [(0, 1), (length - 1, length), (1, length), (0, length - 1)].map(range);
        let tiles = TILES.into_iter().filter(|&tile| tile < length).flat_map(|tile| {
            let whole = length / tile * tile;
            let last = if whole == length { length - tile } else { whole };
            [(last, length), (0, tile), (tile, length), (0, last)].map(range)
        });
        let strides = (2..(MAX_STRIDE + 1).min(length))
            .flat_map(|step| (0..step).map(move |from| (step, from)))
            // One or two terms are no stride.
            .filter(|(step, from)| from + 2 * step < length)
            .flat_map(|(step, from)| [Self::Every { step, from }, Self::AllBut { step, from }])
            // All but one in two are one in two.
            .filter(|subset| !matches!(subset, Self::AllBut { step: 2, .. }));
        let parts = (3..=16)
            .chain([32, 64])
            .filter(|&tile| tile < length)
            .flat_map(|tile| (1..tile).map(move |cut| (tile, cut)))
            .flat_map(|(tile, cut)| [(tile, cut, tile), (tile, 0, cut)])
            .map(|(tile, from, to)| Self::OfEach { tile, from, to });
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

pub(super) fn subsets(scene: &Scene<'_>) -> Option<Pattern> {
    if scene.name == TensorName::P {
        return denominators(scene);
    }
    let sum = Sum::new(scene)?;
    let terms = Terms {
        length: sum.length,
        over: sum.over,
        term: &|i, k| sum.term(i, k),
        predict: &|i, part| scene.expected[i] - part,
    };
    terms.search(scene)
}

/// Softmax whose denominator leaves terms out, or adds them twice: the right value
/// over one minus the part of its row that is left out.
fn denominators(scene: &Scene<'_>) -> Option<Pattern> {
    if scene.chain.losses() != [Loss::CrossEntropy] {
        return None;
    }
    let columns = scene.chain.outputs();
    let row = |i: usize| &scene.expected[i / columns * columns..][..columns];
    let groups = TILES.into_iter().filter(|&tile| tile < columns).map(|tile| {
        let text =
            format!("each class is divided by the sum of only its group, in groups of {tile}");
        hypothesis(text, move |i| {
            let group = row(i).chunks(tile).nth(i % columns / tile);
            scene.expected[i] / group.map_or(f64::NAN, |group| group.iter().sum())
        })
    });
    let terms = Terms {
        length: columns,
        over: "classes of the sum below",
        term: &|i, k| row(i)[k],
        predict: &|i, part| scene.expected[i] / (1.0 - part),
    };
    scene.first(groups.collect()).or_else(|| terms.search(scene))
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
}

impl Terms<'_> {
    /// Tries the hypothesis that a subset is left out, or with a `sign` of -1 that it is added twice.
    fn without(&self, scene: &Scene<'_>, subset: Subset, sign: f64) -> Option<Pattern> {
        let left_out = |i: usize| subset.sum(self.length, |k| (self.term)(i, k));
        scene.try_numbers(
            |i| (self.predict)(i, sign * left_out(i)),
            || {
                let weights = subset.weights(self.length, 1.0 - sign);
                of_weights(scene, &weights, self.over).unwrap_or_default()
            },
        )
    }

    /// Tries all subsets, the simplest first.
    fn search(&self, scene: &Scene<'_>) -> Option<Pattern> {
        if self.length < 2 {
            return None;
        }
        let families = Subset::families(self.length).into_iter();
        let mut families = families.filter(|subsets| scene.tells(2 * subsets.len()));
        let found = families.find_map(|subsets| {
            let mut both = subsets.into_iter().flat_map(|subset| [(subset, 1.0), (subset, -1.0)]);
            both.find_map(|(subset, sign)| self.without(scene, subset, sign))
        });
        found.or_else(|| {
            let (from, to, sign) = self.range(scene)?;
            self.without(scene, Subset::Range(from, to), sign)
        })
    }

    /// The range that explains every probe by its absence, or by being added twice.
    fn range(&self, scene: &Scene<'_>) -> Option<(usize, usize, f64)> {
        let all = self.length <= MAX_LENGTH_FOR_RANGES;
        if !scene.tells(self.length * if all { self.length } else { 4 }) {
            return None;
        }
        let prefix = |&i: &usize| (i, prefix_sums((0..self.length).map(|k| (self.term)(i, k))));
        let prefixes: Vec<(usize, Vec<f64>)> = scene.probes.iter().map(prefix).collect();
        let fits = |from: usize, to: usize, sign: f64| {
            let part = |sums: &[f64]| sign * (sums[to] - sums[from]);
            prefixes.iter().all(|(i, sums)| scene.fits(*i, (self.predict)(*i, part(sums))))
        };
        ranges(self.length, all).find_map(|(from, to)| {
            let sign = [1.0, -1.0].into_iter().find(|&sign| fits(from, to, sign))?;
            Some((from, to, sign))
        })
    }
}
