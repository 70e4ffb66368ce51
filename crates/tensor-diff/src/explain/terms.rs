//! Sums that leave some of their terms out, or add them twice: every subset that a loop, a tile or a
//! stride cuts out.

use tensor::{Loss, TensorName};

use super::Pattern;
use super::formula::Sum;
use super::{Hypothesis, Scene, hypothesis};
use crate::describe::place::TILES;

/// The longest stride that is looked for.
const STRIDES: usize = 65;
/// Beyond this many terms, not every range of them is tried.
const RANGES: usize = 3000;

/// Some of the terms of a sum, by their indices.
#[derive(Clone, Copy)]
enum Subset {
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

pub(super) fn subsets(scene: &Scene<'_>) -> Option<Pattern> {
    match scene.name {
        TensorName::P => denominators(scene),
        TensorName::Loss => samples_of_loss(scene),
        _ => of_sum(scene),
    }
}

fn of_sum(scene: &Scene<'_>) -> Option<Pattern> {
    let sum = Sum::of(scene)?;
    if sum.length < 2 {
        return None;
    }
    let prefixes: Vec<(usize, Vec<f64>)> = {
        let prefix = |&i: &usize| {
            let mut total = 0.0;
            let mut sums = vec![0.0];
            for k in 0..sum.length {
                total += sum.term(i, k);
                sums.push(total);
            }
            (i, sums)
        };
        scene.probes.iter().map(prefix).collect()
    };
    search(
        scene,
        sum.length,
        sum.over,
        &prefixes,
        &|i, part| scene.expected[i] - part,
        &|i, subset| part(subset, sum.length, |k| sum.term(i, k)),
    )
}

/// Softmax whose denominator leaves terms out, or adds them twice: of each row, what it should be
/// over one minus the part of it that is left out.
fn denominators(scene: &Scene<'_>) -> Option<Pattern> {
    if scene.chain.losses() != [Loss::CrossEntropy] {
        return None;
    }
    let columns = scene.chain.outputs();
    let row = |i: usize| &scene.expected[i / columns * columns..][..columns];
    let groups = TILES.into_iter().filter(|&tile| tile < columns).map(|tile| {
        let text =
            format!("each class is divided by the sum of its own group alone, in groups of {tile}");
        hypothesis(text, move |i| {
            let group = row(i).chunks(tile).nth(i % columns / tile);
            scene.expected[i] / group.map_or(f64::NAN, |group| group.iter().sum())
        })
    });
    let found = scene.first(groups.collect());
    if found.is_some() {
        return found;
    }
    let prefixes: Vec<(usize, Vec<f64>)> = scene
        .probes
        .iter()
        .map(|&i| {
            let mut total = 0.0;
            let sums = row(i).iter().map(|p| {
                total += p;
                total
            });
            (i, std::iter::once(0.0).chain(sums).collect())
        })
        .collect();
    search(
        scene,
        columns,
        "classes of the sum below",
        &prefixes,
        &|i, part| scene.expected[i] / (1.0 - part),
        &|i, subset| part(subset, columns, |k| row(i)[k]),
    )
}

/// A loss without some of its samples, or of its classes.
fn samples_of_loss(scene: &Scene<'_>) -> Option<Pattern> {
    let loss = scene.chain.losses().first().copied()?;
    let z = scene.chain.get(TensorName::Z(scene.chain.layers()))?;
    let y = scene.chain.get(TensorName::Y)?;
    let (classes, batch) = (scene.chain.outputs(), scene.chain.batch());
    let samples = z.chunks_exact(classes).zip(y.chunks_exact(classes));
    let each: Vec<f64> = samples
        .map(|(z, y)| crate::chain::output::loss(loss, z, y, classes) / batch as f64)
        .collect();
    terms_of_loss(scene, "samples", &each).or_else(|| classes_of_loss(scene, loss, z, y))
}

/// A loss whose sum over the classes leaves some out, of every sample.
fn classes_of_loss(scene: &Scene<'_>, loss: Loss, z: &[f64], y: &[f64]) -> Option<Pattern> {
    let (classes, batch) = (scene.chain.outputs(), scene.chain.batch() as f64);
    let mut each = vec![0.0; classes];
    for (z, y) in z.chunks_exact(classes).zip(y.chunks_exact(classes)) {
        let largest = z.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let log_sum = largest + z.iter().map(|z| (z - largest).exp()).sum::<f64>().ln();
        for (c, each) in each.iter_mut().enumerate() {
            *each += match loss {
                Loss::CrossEntropy => y[c] * (log_sum - z[c]) / batch,
                _ => crate::chain::output::loss(loss, &z[c..=c], &y[c..=c], 1) / batch,
            } / if loss == Loss::Bce { classes as f64 } else { 1.0 };
        }
    }
    terms_of_loss(scene, "classes", &each)
}

/// A loss without some of the terms that it is the sum of, or with some of them twice.
fn terms_of_loss(scene: &Scene<'_>, over: &str, each: &[f64]) -> Option<Pattern> {
    if each.len() < 2 {
        return None;
    }
    let mut total = 0.0;
    let sums = each.iter().map(|term| {
        total += term;
        total
    });
    let prefixes = vec![(0, std::iter::once(0.0).chain(sums).collect())];
    search(scene, each.len(), over, &prefixes, &|_, part| scene.expected[0] - part, &|_, subset| {
        part(subset, each.len(), |k| each[k])
    })
}

fn part(subset: Subset, length: usize, term: impl Fn(usize) -> f64) -> f64 {
    match subset {
        Subset::Range(from, to) => (from..to).map(term).sum(),
        Subset::Every { step, from } => (from..length).step_by(step).map(term).sum(),
        Subset::AllBut { step, from } => (0..length).filter(|k| k % step != from).map(term).sum(),
        Subset::OfEach { tile, from, to } => {
            (0..length).filter(|k| (from..to).contains(&(k % tile))).map(term).sum()
        }
    }
}

/// Goes through the subsets of `length` terms, the simplest first. `predict` makes an element of the
/// part that is left out; a part that is added twice is one that is left out with the other sign.
fn search(
    scene: &Scene<'_>,
    length: usize,
    over: &str,
    prefixes: &[(usize, Vec<f64>)],
    predict: &dyn Fn(usize, f64) -> f64,
    part: &dyn Fn(usize, Subset) -> f64,
) -> Option<Pattern> {
    let member = |subset: Subset, sign: f64| -> Hypothesis<'_> {
        hypothesis(words(subset, sign, length, over), move |i| predict(i, sign * part(i, subset)))
    };
    let both = |subset: Subset| [member(subset, 1.0), member(subset, -1.0)];

    let mut simple = vec![Subset::Range(0, 1), Subset::Range(length - 1, length)];
    simple.extend([Subset::Range(1, length), Subset::Range(0, length - 1)]);
    let found = scene.first(simple.drain(..).flat_map(both).collect());
    if found.is_some() {
        return found;
    }
    for tile in TILES.into_iter().filter(|&tile| tile < length) {
        let whole = length / tile * tile;
        let last = if whole == length { length - tile } else { whole };
        simple.push(Subset::Range(last, length));
        simple.push(Subset::Range(0, tile));
        simple.push(Subset::Range(tile, length));
        simple.push(Subset::Range(0, last));
    }
    let found = scene.first(simple.into_iter().flat_map(both).collect());
    if found.is_some() {
        return found;
    }
    let strides: Vec<Subset> = (2..STRIDES.min(length))
        .flat_map(|step| (0..step).map(move |from| (step, from)))
        // One or two are no stride.
        .filter(|(step, from)| from + 2 * step < length)
        .flat_map(|(step, from)| [Subset::Every { step, from }, Subset::AllBut { step, from }])
        // All but one in two are one in two.
        .filter(|subset| !matches!(subset, Subset::AllBut { step: 2, .. }))
        .collect();
    let parts: Vec<Subset> = TILES
        .into_iter()
        .filter(|&tile| 2 < tile && tile <= 64 && tile < length)
        .flat_map(|tile| (1..tile).map(move |cut| (tile, cut)))
        .flat_map(|(tile, cut)| [(tile, cut, tile), (tile, 0, cut)])
        .map(|(tile, from, to)| Subset::OfEach { tile, from, to })
        .collect();
    // Most strides are refused by their first probe; the ranges are told apart by prefix sums.
    for subsets in [strides, parts] {
        let found = scene.first_of(2 * subsets.len(), subsets.into_iter().flat_map(both));
        if found.is_some() {
            return found;
        }
    }
    ranges(scene, length, prefixes, predict)
        .and_then(|(from, to, sign)| scene.try_one(&member(Subset::Range(from, to), sign)))
}

/// The range whose absence, or presence twice, makes every probe: ends before middles.
fn ranges(
    scene: &Scene<'_>,
    length: usize,
    prefixes: &[(usize, Vec<f64>)],
    predict: &dyn Fn(usize, f64) -> f64,
) -> Option<(usize, usize, f64)> {
    let all = length <= RANGES;
    let members = if all { length * length } else { 4 * length };
    if !scene.tells(members) {
        return None;
    }
    let fits = |from: usize, to: usize, sign: f64| {
        prefixes.iter().all(|(i, sums)| scene.fits(*i, predict(*i, sign * (sums[to] - sums[from]))))
    };
    let either = |from: usize, to: usize| {
        [1.0, -1.0].into_iter().find(|&sign| fits(from, to, sign)).map(|sign| (from, to, sign))
    };
    let ends = (1..length).flat_map(|cut| [(cut, length), (0, cut)]);
    let singles = (0..length).map(|k| (k, k + 1));
    let rest = (0..if all { length } else { 0 })
        .flat_map(|from| (from + 2..length).map(move |to| (from, to)));
    ends.chain(singles).chain(rest).find_map(|(from, to)| either(from, to))
}

fn words(subset: Subset, sign: f64, length: usize, over: &str) -> String {
    let (is, are) = if sign > 0.0 {
        ("is left out", "are left out")
    } else {
        ("is added twice", "are added twice")
    };
    let of = format!("of the {length} {over}");
    match subset {
        Subset::Range(0, 1) => format!("the first {of} {is}"),
        Subset::Range(from, to) if (from, to) == (length - 1, length) => {
            format!("the last {of} {is}")
        }
        Subset::Range(from, to) if to == from + 1 => format!("number {from} {of} {is}"),
        Subset::Range(from, to) if to == length && sign > 0.0 && 2 * from < length => {
            format!("only the first {from} {of} count: the others {are}")
        }
        Subset::Range(from, to) if to == length => {
            format!("the last {} {of} {are}, from {from} on", length - from)
        }
        Subset::Range(0, to) if sign > 0.0 && 2 * to > length => {
            format!("only the last {} {of} count, from {to} on: the others {are}", length - to)
        }
        Subset::Range(0, to) => format!("the first {to} {of} {are}"),
        Subset::Range(from, to) => format!("{} {of} {are}, from {from} to {}", to - from, to - 1),
        Subset::Every { step, from } => format!("one in {step} {of} {is}, from {from} on"),
        Subset::OfEach { tile, from: 0, to } => {
            format!("of each {tile} {of} the first {to} {are}")
        }
        Subset::OfEach { tile, from, .. } => {
            format!("of each {tile} {of} the last {} {are}", tile - from)
        }
        Subset::AllBut { step, from } => {
            format!("all {of} but one in {step} {are}; what stays begins with {from}")
        }
    }
}
