//! Sums whose terms are made otherwise than as a product, whose terms fade, or that go on behind the last
//! term.

use super::super::Pattern;
use super::super::Scene;
use super::super::formula::Sum;
use super::super::numbers::number;
use crate::describe::place::TILES;

/// What is done to one factor.
type Altered = (&'static str, fn(f64) -> f64);

const ALTERED: [Altered; 7] = [
    ("", |x| x),
    ("the magnitude of", f64::abs),
    ("the square of", |x| x * x),
    ("relu of", |x| x.max(0.0)),
    ("what is below 0 of", |x| x.min(0.0)),
    ("the sign of", |x| if x == 0.0 { 0.0 } else { x.signum() }),
    ("1 in place of", |_| 1.0),
];

/// A term that is no product.
type Term = (&'static str, fn(f64, f64) -> f64);

const TERMS: [Term; 13] = [
    ("the magnitude of each term is added", |a, b| (a * b).abs()),
    ("the square of each term is added", |a, b| a * a * b * b),
    ("only terms above 0 are added", |a, b| (a * b).max(0.0)),
    ("only terms below 0 are added", |a, b| (a * b).min(0.0)),
    ("the factors are added, not multiplied", |a, b| a + b),
    ("the factors are subtracted, not multiplied", |a, b| a - b),
    ("the square of the factors' difference is added", |a, b| (a - b) * (a - b)),
    ("the magnitude of the factors' difference is added", |a, b| (a - b).abs()),
    ("the larger of the two factors is added", f64::max),
    ("the smaller of the two factors is added", f64::min),
    ("the factors are divided, not multiplied", |a, b| a / b),
    ("each term is multiplied by its first factor once more", |a, b| a * a * b),
    ("each term is multiplied by its second factor once more", |a, b| a * b * b),
];

/// What is left of a sum after each term, where it fades.
const FADING: [f64; 10] = [0.5, 0.75, 0.8, 0.9, 0.95, 0.98, 0.99, 0.995, 0.999, 0.9999];

pub(super) fn made_otherwise(scene: &Scene<'_>, sum: &Sum<'_>) -> Option<Pattern> {
    let factors = |i: usize, k: usize| (sum.factor(&sum.left, i, k), sum.factor(&sum.right, i, k));
    let total = |i: usize, of: &dyn Fn(f64, f64) -> f64| -> f64 {
        (0..sum.length)
            .map(|k| {
                let (a, b) = factors(i, k);
                of(a, b)
            })
            .sum()
    };
    let [Some(left), right, _] = sum.names else { return None };
    if !scene.tells_after(100, 0) {
        return None;
    }
    let of = |of_left: &str, of_right: &str| {
        let named =
            |of: &str, name: String| if of.is_empty() { name } else { format!("{of} {name}") };
        let left = named(of_left, left.to_string());
        match right {
            Some(right) => {
                format!("the sum is of {left} times {}", named(of_right, right.to_string()))
            }
            None => format!("the sum is of {left}"),
        }
    };
    for scaled in [false, true] {
        for (of_left, f) in ALTERED {
            for (of_right, g) in
                ALTERED.iter().take(if right.is_some() { ALTERED.len() } else { 1 })
            {
                if of_left.is_empty() && of_right.is_empty() {
                    continue;
                }
                let value = |i: usize| total(i, &|a, b| f(a) * g(b));
                let found = told(scene, sum, scaled, value, || of(of_left, of_right));
                if found.is_some() {
                    return found;
                }
            }
        }
        for (words, term) in TERMS.iter().filter(|_| right.is_some()) {
            let value = |i: usize| total(i, term);
            let found = told(scene, sum, scaled, value, || (*words).to_owned());
            if found.is_some() {
                return found;
            }
        }
    }
    largest(scene, sum).or_else(|| fading(scene, sum)).or_else(|| beyond(scene, sum))
}

/// A sum that is this, or a multiple of it.
fn told(
    scene: &Scene<'_>,
    sum: &Sum<'_>,
    scaled: bool,
    value: impl Fn(usize) -> f64,
    words: impl Fn() -> String,
) -> Option<Pattern> {
    if !scaled {
        return scene.try_numbers(|i| sum.base_of(i) + value(i), words);
    }
    let &first = scene.probes.iter().find(|&&i| scene.candidate[i].is_finite())?;
    let factor = (scene.candidate[first] - sum.base_of(first)) / value(first);
    if !scene.tells_after(100, 1) || !factor.is_finite() || factor.abs() < 1e-4 {
        return None;
    }
    scene.try_numbers(
        |i| sum.base_of(i) + factor * value(i),
        || format!("{}, {} times", words(), number(scene, factor)),
    )
}

fn largest(scene: &Scene<'_>, sum: &Sum<'_>) -> Option<Pattern> {
    let ends: [Term; 2] = [
        ("it is the largest term, not the sum of all", f64::max),
        ("it is the smallest term, not the sum of all", f64::min),
    ];
    let starts = [f64::NEG_INFINITY, f64::INFINITY];
    ends.into_iter().zip(starts).find_map(|((words, of), start)| {
        let end = |i: usize| (0..sum.length).map(|k| sum.term(i, k)).fold(start, of);
        scene.try_numbers(|i| sum.base_of(i) + end(i), || words.into())
    })
}

/// A sum of which a part is lost with each term.
fn fading(scene: &Scene<'_>, sum: &Sum<'_>) -> Option<Pattern> {
    FADING.into_iter().find_map(|rate| {
        let faded = |i: usize| (0..sum.length).fold(0.0, |all, k| rate * all + sum.term(i, k));
        scene.try_numbers(
            |i| sum.base_of(i) + faded(i),
            || format!("the sum fades: with each term it is multiplied by {rate}"),
        )
    })
}

/// A sum that doesn't end where it should.
fn beyond(scene: &Scene<'_>, sum: &Sum<'_>) -> Option<Pattern> {
    let n = sum.length;
    let mut ends = vec![n + 1, n + 2];
    ends.extend(TILES.iter().filter(|&&tile| tile <= 128).map(|tile| n.div_ceil(*tile) * tile));
    ends.sort_unstable();
    ends.dedup();
    ends.into_iter().filter(|&end| end > n).find_map(|end| {
        let more = end - n;
        scene.try_numbers(
            |i| scene.expected[i] + (n..end).map(|k| sum.term(i, k)).sum::<f64>(),
            || {
                let terms = if more == 1 { "term".to_owned() } else { format!("{more} terms") };
                format!("{} too many: the sum goes on to {end} of {n} {}", one(&terms), sum.over)
            },
        )
    })
}

fn one(terms: &str) -> String {
    if terms == "term" { "one term".into() } else { terms.into() }
}
