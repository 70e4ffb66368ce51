//! Sums of terms other than products: of other functions of the factors, of shifted factors, or of too many terms.

use super::super::formula::Sum;
use super::super::numbers::number;
use super::super::solve::{Equation, least_squares};
use super::super::{Pattern, Scene};
use crate::describe::place::TILES;
use crate::numeric::unique;

/// The number of elements that determine how far an operand is shifted.
const EQUATIONS: usize = 60;

/// A function of the two factors.
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

/// The part of a sum that stays after each term, if the sum fades.
const FADING: [f64; 10] = [0.5, 0.75, 0.8, 0.9, 0.95, 0.98, 0.99, 0.995, 0.999, 0.9999];

pub(super) fn made_otherwise(scene: &Scene<'_>, sum: &Sum<'_>) -> Option<Pattern> {
    if !scene.tells(100) {
        return None;
    }
    other_terms(scene, sum)
        .or_else(|| other_sums(scene, sum))
        .or_else(|| beyond(scene, sum))
        .or_else(|| shifted(scene, sum))
        .or_else(|| multiplied(scene, sum))
}

fn other_terms(scene: &Scene<'_>, sum: &Sum<'_>) -> Option<Pattern> {
    sum.names[1]?;
    [false, true].into_iter().filter(|&scaled| scene.tells_after(100, scaled.into())).find_map(
        |scaled| {
            TERMS.into_iter().find_map(|(text, of)| {
                let total = |i: usize| -> f64 {
                    (0..sum.length).map(|k| sum.factors(i, k)).map(|(a, b)| of(a, b)).sum()
                };
                if !scaled {
                    return scene.try_numbers(|i| sum.base_of(i) + total(i), || text.into());
                }
                let words = |factor| format!("{text}, {} times", number(scene, factor));
                scene.try_scaled(|i| (sum.base_of(i), total(i)), words)
            })
        },
    )
}

/// The largest or the smallest term, or a sum of which a part is lost with each term.
fn other_sums(scene: &Scene<'_>, sum: &Sum<'_>) -> Option<Pattern> {
    let ends: [(Term, f64); 2] = [
        (("it is the largest term, not the sum of all", f64::max), f64::NEG_INFINITY),
        (("it is the smallest term, not the sum of all", f64::min), f64::INFINITY),
    ];
    let end = ends.into_iter().find_map(|((text, of), start)| {
        scene.try_numbers(|i| sum.base_of(i) + sum.terms(i).fold(start, of), || text.into())
    });
    end.or_else(|| {
        FADING.into_iter().find_map(|rate| {
            let faded = |i: usize| sum.terms(i).fold(0.0, |all, term| rate * all + term);
            scene.try_numbers(
                |i| sum.base_of(i) + faded(i),
                || format!("the sum fades: with each term it is multiplied by {rate}"),
            )
        })
    })
}

/// A sum that goes on after its last term.
fn beyond(scene: &Scene<'_>, sum: &Sum<'_>) -> Option<Pattern> {
    let n = sum.length;
    let tiled = TILES.iter().filter(|&&tile| tile <= 128).map(|tile| n.div_ceil(*tile) * tile);
    let ends = unique([n + 1, n + 2].into_iter().chain(tiled).filter(|&end| end > n));
    ends.into_iter().find_map(|end| {
        let words = || {
            let more = if end == n + 1 { "one term".into() } else { format!("{} terms", end - n) };
            format!("{more} too many: the sum goes on to {end} of {n} {}", sum.over)
        };
        let more = |i: usize| (n..end).map(|k| sum.term(i, k)).sum::<f64>();
        scene.try_numbers(|i| scene.expected[i] + more(i), words)
    })
}

/// `Σ α·(a + c)·(b + d)`: the sums of the products and of each factor, and the number of terms.
fn shifted(scene: &Scene<'_>, sum: &Sum<'_>) -> Option<Pattern> {
    let (left, right) = (sum.names[0]?, sum.names[1]?);
    let sums = |i: usize| -> [f64; 4] {
        let terms = (0..sum.length).map(|k| sum.factors(i, k));
        terms.fold([0.0, 0.0, 0.0, sum.length as f64], |[ab, b, a, n], (left, right)| {
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
            Equation {
                factors: chosen.iter().map(|&at| weight * sums[at]).collect(),
                result: weight * (scene.candidate[i] - sum.base_of(i)),
            }
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

/// Each term multiplied once more, by a tensor of an operand's shape, or by one number of each term, each
/// row or each column.
fn multiplied(scene: &Scene<'_>, sum: &Sum<'_>) -> Option<Pattern> {
    let tensors = scene.tensors();
    if !scene.tells_after(10 * tensors.len(), 1) {
        return None;
    }
    tensors.iter().find_map(|(text, _, _, values)| {
        let operands = [&sum.left, &sum.right].into_iter();
        let mut like = operands.filter(|operand| operand.values.len() == values.len());
        let found = like.find_map(|operand| {
            let factor = |i, k| sum.factor(operand, values, i, k);
            scaled(scene, sum, factor, &format!("each term is multiplied by {text}, too"))
        });
        found.or_else(|| {
            let text = format!("each term is multiplied by its element of {text}, too");
            let each = values.len() == sum.length && sum.length > 1;
            if each { scaled(scene, sum, |_, k| values[k], &text) } else { None }
        })
    })
}

/// A sum whose terms have this factor, and which may be a multiple of that.
fn scaled(
    scene: &Scene<'_>,
    sum: &Sum<'_>,
    factor: impl Fn(usize, usize) -> f64,
    text: &str,
) -> Option<Pattern> {
    let total = |i: usize| -> f64 { (0..sum.length).map(|k| factor(i, k) * sum.term(i, k)).sum() };
    scene.try_numbers(|i| sum.base_of(i) + total(i), || text.to_owned()).or_else(|| {
        let words =
            |factor| format!("{text}, and the sum is {} times as large", number(scene, factor));
        scene.try_scaled(|i| (sum.base_of(i), total(i)), words)
    })
}
