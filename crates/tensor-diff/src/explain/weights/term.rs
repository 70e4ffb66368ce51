//! Sums of terms other than products: of other functions of the factors, of shifted factors, or of too many terms.

use super::super::formula::Formula;
use super::super::numbers::number;
use super::super::solve::least_squares;
use super::super::{Hypothesis, Pattern, Scene, hypothesis};
use crate::describe::place::TILES;
use crate::numeric::{extremes, unique};

/// The number of elements that determine how far an operand is shifted.
const EQUATIONS: usize = 60;

/// A function of the two factors.
type Term = (&'static str, fn(f64, f64) -> f64);

const TERMS: [Term; 3] = [
    ("the factors are added, not multiplied", |a, b| a + b),
    ("the factors are subtracted, not multiplied", |a, b| a - b),
    ("the factors are divided, not multiplied", |a, b| a / b),
];

pub(super) fn made_otherwise(scene: &Scene<'_>, sum: &Formula<'_>) -> Option<Pattern> {
    if !scene.tells(100) {
        return None;
    }
    let others = others(sum);
    let base = |i: usize| sum.base_of(i);
    scene
        .first_as(&others, false, base, |text, _| text.into())
        .or_else(|| {
            let scaled = sum.is_product() && scene.tells_after(100, 1);
            let terms = if scaled { &others[..TERMS.len()] } else { &[] };
            let words = |text: &str, factor| format!("{text}, {} times", number(scene, factor));
            scene.first_as(terms, true, base, words)
        })
        .or_else(|| shifted(scene, sum))
}

/// Hypotheses that a sum has other terms or too many, or is only the largest or the smallest term.
fn others<'s>(sum: &'s Formula<'_>) -> Vec<Hypothesis<'s>> {
    let mut all = Vec::new();
    if sum.is_product() {
        all.extend(TERMS.map(|(text, of)| {
            let term = move |i, k| {
                let [a, b] = sum.pair(i, k);
                of(a, b)
            };
            hypothesis(text, move |i| (0..sum.length).map(|k| term(i, k)).sum())
        }));
    }
    all.extend([
        hypothesis("it is the largest term, not the sum of all", |i| extremes(sum.terms(i)).1),
        hypothesis("it is the smallest term, not the sum of all", |i| extremes(sum.terms(i)).0),
    ]);
    let n = sum.length;
    let tiled = TILES.iter().filter(|&&tile| tile <= 128).map(|tile| n.div_ceil(*tile) * tile);
    let ends = unique([n + 1, n + 2].into_iter().chain(tiled).filter(|&end| end > n));
    all.extend(ends.into_iter().map(|end| {
        let more = if end == n + 1 { "one term".into() } else { format!("{} terms", end - n) };
        let text = format!("{more} too many: the sum goes on to {end} of {n} {}", sum.over);
        hypothesis(text, move |i| (0..end).map(|k| sum.term(i, k)).sum())
    }));
    all
}

/// Tries `Σ α·(a + c)·(b + d)`, a combination of the sum of the products, the sum of each factor, and the number of
/// terms.
fn shifted(scene: &Scene<'_>, sum: &Formula<'_>) -> Option<Pattern> {
    if !sum.is_product() {
        return None;
    }
    let [left, right] = [0, 1].map(|place| &sum.operands[place].name);
    let sums = |i: usize| -> [f64; 4] {
        let terms = (0..sum.length).map(|k| sum.pair(i, k));
        terms.fold([0.0, 0.0, 0.0, sum.length as f64], |[ab, b, a, n], [left, right]| {
            [ab + left * right, b + right, a + left, n]
        })
    };
    let equations: Vec<(usize, [f64; 4])> =
        scene.known_wrong(EQUATIONS).into_iter().map(|i| (i, sums(i))).collect();
    // One factor shifted, the other, or both.
    let families = [&[0, 1][..], &[0, 2], &[0, 3], &[0, 1, 2], &[0, 1, 2, 3]];
    families.into_iter().find_map(|chosen: &[usize]| {
        if equations.len() < chosen.len() + 4 || !scene.tells_after(5, chosen.len()) {
            return None;
        }
        let equation = |&(i, sums): &(usize, [f64; 4])| {
            let weight = scene.weight(i, scene.expected[i]);
            let result = weight * (scene.candidate[i] - sum.base_of(i));
            chosen.iter().map(|&at| weight * sums[at]).chain([result]).collect::<Vec<f64>>()
        };
        let factors = least_squares(&equations.iter().map(equation).collect::<Vec<_>>())?;
        let made = |i: usize| {
            let sums = sums(i);
            let own: f64 = chosen.iter().zip(&factors).map(|(&at, factor)| factor * sums[at]).sum();
            sum.base_of(i) + own
        };
        scene.try_numbers(made, || {
            let mut parts = Vec::new();
            if (factors[0] - 1.0).abs() > 1e-4 {
                let times = number(scene, factors[0]);
                parts.push(format!("the product is {times} times what it should be"));
            }
            // A shift below this is a rounding error.
            let counts = |factor: f64| (factor / factors[0]).abs() > 1e-5;
            for (&at, &factor) in chosen.iter().zip(&factors).skip(1).filter(|(_, f)| counts(**f)) {
                let more = number(scene, factor / factors[0]);
                parts.push(match at {
                    1 => format!("{more} is added to each {left} first"),
                    2 => format!("{more} is added to each {right} first"),
                    _ => format!("{more} is added to each term"),
                });
            }
            parts.join(", and ")
        })
    })
}
