//! Rows of `p` that are divided by anything but their sum. The right numerator is the one whose divisor is the same
//! number throughout each row; then these numbers are explained.

use tensor::{Loss, TensorName};

use super::numbers::{number, plain};
use super::solve::{Equation, least_squares};
use super::weights::of_weights;
use super::{Pattern, Scene};
use crate::numeric::{extremes, largest, norm, sigmoid};

/// A numerator, from `z` and the largest `z` of the row.
type Numerator = (&'static str, fn(f64, f64) -> f64);

const NUMERATORS: [Numerator; 12] = [
    ("exp(z - max z)", |z, largest| (z - largest).exp()),
    ("exp(z)", |z, _| z.exp()),
    ("2^(z - max z)", |z, largest| (z - largest).exp2()),
    ("2^z", |z, _| z.exp2()),
    ("10^z", |z, _| 10_f64.powf(z)),
    ("exp(-z)", |z, _| (-z).exp()),
    ("exp(|z|)", |z, _| z.abs().exp()),
    ("relu(z)", |z, _| z.max(0.0)),
    ("|z|", |z, _| z.abs()),
    ("z²", |z, _| z * z),
    ("z", |z, _| z),
    ("sigmoid(z)", |z, _| sigmoid(z)),
];

/// A function of a row that may be its divisor.
type Divisor = (&'static str, fn(&[f64]) -> f64);

const DIVISORS: [Divisor; 8] = [
    ("its sum", |row| row.iter().sum()),
    ("the root of the sum of its squares", norm),
    ("the sum of its squares", |row| row.iter().map(|x| x * x).sum()),
    ("its largest", largest),
    ("its sum without its largest", |row| row.iter().sum::<f64>() - largest(row)),
    ("the square of its sum", |row| row.iter().sum::<f64>().powi(2)),
    ("the root of its sum", |row| row.iter().sum::<f64>().sqrt()),
    ("1", |_| 1.0),
];

pub(super) fn rows(scene: &Scene<'_>) -> Option<Pattern> {
    if scene.name != TensorName::P
        || scene.seen.is_some()
        || scene.chain.losses() != [Loss::CrossEntropy]
    {
        return None;
    }
    let z = scene.chain.get(TensorName::Z(scene.chain.layers()))?;
    let (_, columns) = scene.rows_and_columns();
    if columns < 2 || !scene.tells_after(500, 2) {
        return None;
    }
    let above = |above: fn(f64, f64) -> f64| -> Vec<f64> {
        let rows = z.chunks_exact(columns).flat_map(|row| {
            let largest = largest(row);
            row.iter().map(move |&z| above(z, largest))
        });
        rows.collect()
    };
    let values: Vec<(&str, Vec<f64>)> =
        NUMERATORS.iter().map(|(text, of)| (*text, above(*of))).collect();
    let found = values.iter().filter_map(|(text, values)| Rows::new(scene, text, values, columns));
    let found: Vec<Rows<'_>> = found.collect();
    let ways = [Rows::plainly, Rows::weighted, Rows::with_a_number];
    ways.iter().find_map(|way| found.iter().find_map(|rows| way(rows, scene)))
}

/// The numerators, and the divisor of each row.
struct Rows<'a> {
    text: &'a str,
    values: &'a [f64],
    columns: usize,
    /// By row; `None` for a row without wrong elements.
    divisors: Vec<Option<f64>>,
}

impl<'a> Rows<'a> {
    fn new(scene: &Scene<'_>, text: &'a str, values: &'a [f64], columns: usize) -> Option<Self> {
        let mut divisors = vec![None; values.len() / columns];
        for &i in &scene.wrong {
            let row = i / columns;
            if divisors[row].is_some() {
                continue;
            }
            let of_row = || row * columns..row * columns + columns;
            let largest = of_row().max_by(|&a, &b| values[a].abs().total_cmp(&values[b].abs()))?;
            let divisor = values[largest] / scene.candidate[largest];
            if !divisor.is_finite() || !of_row().all(|i| scene.fits(i, values[i] / divisor)) {
                return None;
            }
            divisors[row] = Some(divisor);
        }
        (divisors.iter().flatten().count() > 1).then_some(Self { text, values, columns, divisors })
    }

    fn row(&self, row: usize) -> &[f64] {
        &self.values[row * self.columns..][..self.columns]
    }

    fn divided(
        &self,
        scene: &Scene<'_>,
        below: &[f64],
        words: impl Fn() -> String,
    ) -> Option<Pattern> {
        scene.try_numbers(|i| self.values[i] / below[i / self.columns], words)
    }

    /// A divisor that is a function of its row, a multiple of it, or it plus a number.
    fn plainly(&self, scene: &Scene<'_>) -> Option<Pattern> {
        let text = self.text;
        DIVISORS.into_iter().find_map(|(name, of)| {
            let below: Vec<f64> = (0..self.divisors.len()).map(|row| of(self.row(row))).collect();
            let known = self.divisors.iter().zip(&below).find_map(|(d, b)| Some(((*d)?, *b)));
            let (divisor, own) = known?;
            let (factor, more) = (divisor / own, divisor - own);
            let changed =
                |of: &dyn Fn(f64) -> f64| below.iter().map(|b| of(*b)).collect::<Vec<_>>();
            let found = self.divided(scene, &below, || format!("it is {text} over {name}"));
            let found = found.or_else(|| {
                let words = || format!("it is {text} over {} times {name}", number(scene, factor));
                self.divided(scene, &changed(&|below| factor * below), words)
            });
            found.or_else(|| {
                let words = || format!("{} is added to the divisor of {text}, {name}", plain(more));
                self.divided(scene, &changed(&|below| more + below), words)
            })
        })
    }

    /// A sum in which each class has a different weight.
    fn weighted(&self, scene: &Scene<'_>) -> Option<Pattern> {
        let classes = self.columns;
        let below = |weights: &[f64]| -> Vec<f64> {
            let sum = |row: usize| self.row(row).iter().zip(weights).map(|(x, w)| x * w).sum();
            (0..self.divisors.len()).map(sum).collect()
        };
        let rows = || self.divisors.iter().enumerate().filter_map(|(row, d)| Some((row, (*d)?)));
        // One class, or a run of them, with a weight.
        let (first, divisor) = rows().next()?;
        for from in 0..classes {
            for to in from + 1..=classes {
                let own: f64 = self.row(first).iter().sum();
                let part: f64 = self.row(first)[from..to].iter().sum();
                let weight = 1.0 + (divisor - own) / part;
                let mut weights = vec![1.0; classes];
                let near = (2.0 * weight).round() / 2.0;
                weights[from..to].fill(if (weight - near).abs() < 1e-4 { near } else { weight });
                let found = self.by_weights(scene, &below(&weights), &weights);
                if found.is_some() {
                    return found;
                }
            }
        }
        let equations: Vec<Equation> = rows()
            .map(|(row, divisor)| Equation { factors: self.row(row).to_vec(), result: divisor })
            .collect();
        if equations.len() < classes + classes / 2 + 2 {
            return None;
        }
        let weights = least_squares(&equations)?;
        self.by_weights(scene, &below(&weights), &weights)
    }

    fn by_weights(&self, scene: &Scene<'_>, below: &[f64], weights: &[f64]) -> Option<Pattern> {
        self.divided(scene, below, || {
            let how = of_weights(scene, weights, "classes of the sum below").unwrap_or_default();
            format!("it is {} over a sum in which {how}", self.text)
        })
    }

    /// Divisors that follow no rule.
    fn with_a_number(&self, scene: &Scene<'_>) -> Option<Pattern> {
        let &first = self.divisors.iter().flatten().next()?;
        let below: Vec<f64> = self.divisors.iter().map(|d| d.unwrap_or(f64::NAN)).collect();
        let all = self.divisors.iter().flatten();
        let same = all.clone().all(|d| (d - first).abs() < 1e-5 * first.abs());
        let (least, most) = extremes(all.copied());
        // Each row has to confirm its number with two more elements.
        if self.columns < 3 {
            return None;
        }
        self.divided(scene, &below, || {
            if same {
                format!("it is {} over {} in every row", self.text, number(scene, first))
            } else {
                format!(
                    "it is {} over a number of each row, from {least:.6} to {most:.6}, that is not \
                     its sum: rows don't sum to 1",
                    self.text
                )
            }
        })
    }
}
