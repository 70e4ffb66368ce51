//! Mistakes in `p`: formulas with a step left out or exchanged, and rows divided by something other than their sum. For
//! such rows, the numerator is the one for which the divisor is the same throughout each row; then the divisors are
//! explained.

use tensor::{Loss, TensorName};

use super::numbers::{number, plain};
use super::{Function, Pattern, Scene, hypothesis};
use crate::numeric::{extremes, largest, log_sum_exp, norm, sigmoid, softmax};

/// A function of a row of the last `z` and of one of its elements.
type Output = (&'static str, fn(&[f64], f64) -> f64);

const OUTPUTS: [Output; 15] = [
    ("it is z itself: no function is applied", |_, z| z),
    ("it is softmax(z)", |row, z| quotient(row, z, f64::exp)),
    ("it is sigmoid(z)", |_, z| sigmoid(z)),
    ("it is 2^z / sum 2^z: exp2 in place of exp", |row, z| quotient(row, z, f64::exp2)),
    ("it is 1 / (1 + 2^-z): exp2 in place of exp", |_, z| 1.0 / (1.0 + (-z).exp2())),
    ("it is softmax(-z)", |row, z| quotient(row, z, |z| (-z).exp())),
    ("it is exp(z - max z): not divided by its sum", |row, z| (z - largest(row)).exp()),
    ("it is exp(z): not divided by its sum", |_, z| z.exp()),
    ("1 is added to the sum below exp(z - max z)", |row, z| {
        let largest = largest(row);
        (z - largest).exp() / (1.0 + row.iter().map(|z| (z - largest).exp()).sum::<f64>())
    }),
    ("it is log softmax(z)", |row, z| quotient(row, z, f64::exp).ln()),
    ("it is softmax of softmax(z): softmax is applied twice", |row, z| {
        let p = softmax(row);
        (z - log_sum_exp(row)).exp().exp() / p.iter().map(|p| p.exp()).sum::<f64>()
    }),
    ("it is sigmoid(-z)", |_, z| sigmoid(-z)),
    ("it is 1 + exp(-z): the reciprocal is left out", |_, z| 1.0 + (-z).exp()),
    ("it is 1 / (1 - exp(-z)): 1 and exp(-z) are subtracted", |_, z| 1.0 / (1.0 - (-z).exp())),
    ("it is 1 for the largest z of the row and 0 for the others", |row, z| {
        f64::from(u8::from(z == largest(row)))
    }),
];

/// A function of `z`, divided by the sum of that function over the row.
fn quotient(row: &[f64], z: f64, of: fn(f64) -> f64) -> f64 {
    of(z) / row.iter().map(|&z| of(z)).sum::<f64>()
}

/// The numerators, in words and as functions. `#` in the first three stands for `z` itself or `z` minus some number.
const NUMERATORS: [Function; 7] = [
    ("exp#", f64::exp),
    ("2^#", f64::exp2),
    ("#", |z| z),
    ("10^z", |z| 10_f64.powf(z)),
    ("exp(-z)", |z| (-z).exp()),
    ("z²", |z| z * z),
    ("z", |z| z),
];

/// The numerators of the quotients, each with its values; the first 15 are functions of a shifted `z`.
fn numerators(z: &[f64], columns: usize) -> Vec<(String, Vec<f64>)> {
    let rows = || z.chunks_exact(columns);
    let same = |by: f64| vec![by; z.len() / columns];
    let shifts: [(&str, Vec<f64>); 5] = [
        ("(z - max z)", rows().map(largest).collect()),
        ("(z)", same(0.0)),
        ("(z - max of the first row)", same(largest(&z[..columns]))),
        ("(z - max of the batch)", same(largest(z))),
        ("(z - first z)", rows().map(|row| row[0]).collect()),
    ];
    let of = |name: &str, of: fn(f64) -> f64, (shift, by): &(&str, Vec<f64>)| {
        let values = z.iter().enumerate().map(|(i, z)| of(z - by[i / columns])).collect();
        (name.replace('#', shift), values)
    };
    let shifted =
        NUMERATORS[..3].iter().flat_map(|&(name, f)| shifts.iter().map(move |s| (name, f, s)));
    let others = NUMERATORS[3..].iter().map(|&(name, f)| (name, f, &shifts[1]));
    shifted.chain(others).map(|(name, f, shift)| of(name, f, shift)).collect()
}

/// A function of a row by which the row may have been divided.
type Divisor = (&'static str, fn(&[f64]) -> f64);

const DIVISORS: [Divisor; 3] = [
    ("its sum", |row| row.iter().sum()),
    ("the root of the sum of its squares", norm),
    ("the sum of its squares", |row| row.iter().map(|x| x * x).sum()),
];

/// Tries functions of a row of the last `z` in the place of `p`.
pub(super) fn exchanged(scene: &Scene<'_>) -> Option<Pattern> {
    if scene.name != TensorName::P {
        return None;
    }
    let z = scene.chain.get(TensorName::Z(scene.chain.layers()))?;
    known(scene, z).or_else(|| quotients(scene, z)).or_else(|| scaled(scene, z))
}

fn known(scene: &Scene<'_>, z: &[f64]) -> Option<Pattern> {
    let (_, columns) = scene.rows_and_columns();
    let row = |i: usize| &z[i / columns * columns..][..columns];
    let known = OUTPUTS.map(|(text, of)| hypothesis(text, move |i| of(row(i), z[i])));
    let most = largest(z);
    // exp in float32, with and without subnormal numbers.
    let underflows = [0.0, f64::from(f32::MIN_POSITIVE)].map(|least| {
        let small = move |z: f64| {
            let single = f64::from((z - most).exp() as f32);
            if single < least { 0.0 } else { single }
        };
        let text =
            "the largest z of the whole batch is subtracted, not that of the row: exp underflows";
        hypothesis(text, move |i| small(z[i]) / row(i).iter().map(|&z| small(z)).sum::<f64>())
    });
    scene.first(known.into_iter().chain(underflows))
}

/// Tries every quotient of a function of `z` and the sum of the same or another function, over the row or over elements
/// that may be mistaken for the row.
fn quotients(scene: &Scene<'_>, z: &[f64]) -> Option<Pattern> {
    let (rows, columns) = scene.rows_and_columns();
    if rows * columns != z.len() || columns == 0 {
        return None;
    }
    let above = &numerators(z, columns)[..15];
    let mut below: Vec<(String, Vec<f64>)> = Vec::new();
    for (name, values) in above {
        let sums: Vec<f64> = values.chunks_exact(columns).map(|row| row.iter().sum()).collect();
        let of_other = |what: &str| format!("the sum {name} of the {what}");
        below.push((of_other("whole batch"), vec![sums.iter().sum(); rows]));
        below.push((of_other("first row"), vec![sums[0]; rows]));
        below.push((of_other("last row"), vec![sums[rows - 1]; rows]));
        below.push((of_other("row above"), [&[f64::NAN], &sums[..rows - 1]].concat()));
        below.push((format!("sum {name}"), sums));
    }
    let mut family = Vec::new();
    for (name, values) in above {
        family.extend(below.iter().map(|(below, sums)| {
            hypothesis(format!("it is {name} over {below}"), move |i| values[i] / sums[i / columns])
        }));
        let text = format!("it is {name} over its sum over the batch, not over the classes");
        family.push(hypothesis(text, move |i| {
            values[i] / values.iter().skip(i % columns).step_by(columns).sum::<f64>()
        }));
    }
    scene.first(family)
}

/// Tries softmax or sigmoid of a multiple of `z`.
fn scaled(scene: &Scene<'_>, z: &[f64]) -> Option<Pattern> {
    let (_, columns) = scene.rows_and_columns();
    let row = |i: usize| i / columns * columns..(i / columns + 1) * columns;
    let &first = scene.probes.first()?;
    // One element determines the factor; others have to confirm it.
    if scene.other_probes(first) < 3 {
        return None;
    }
    let p = scene.candidate;
    let distance = |at: &usize| (z[*at] - z[first]).abs();
    let other = row(first).max_by(|a, b| distance(a).total_cmp(&distance(b)))?;
    let factor = (p[first] / p[other]).ln() / (z[first] - z[other]);
    let softmax = hypothesis(format!("it is softmax of {factor:.6} times z"), move |i| {
        1.0 / row(i).map(|at| (factor * (z[at] - z[i])).exp()).sum::<f64>()
    });
    let factor = (p[first] / (1.0 - p[first])).ln() / z[first];
    let text = format!("it is sigmoid of {factor:.6} times z");
    scene.first([softmax, hypothesis(text, move |i| sigmoid(factor * z[i]))])
}

/// Tries softmax with another divisor in each row.
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
    let values = numerators(z, columns);
    let found = values.iter().filter_map(|(text, values)| Rows::new(scene, text, values, columns));
    let found: Vec<Rows<'_>> = found.collect();
    let ways = [Rows::plainly, Rows::with_a_number];
    ways.iter().find_map(|way| found.iter().find_map(|rows| way(rows, scene)))
}

/// The numerators, and the divisor of each row.
struct Rows<'a> {
    text: &'a str,
    values: &'a [f64],
    columns: usize,
    /// The divisor of each row; NaN for a row without wrong elements.
    divisors: Vec<f64>,
}

impl<'a> Rows<'a> {
    fn new(scene: &Scene<'_>, text: &'a str, values: &'a [f64], columns: usize) -> Option<Self> {
        let mut divisors = vec![f64::NAN; values.len() / columns];
        for &i in &scene.wrong {
            let row = i / columns;
            if !divisors[row].is_nan() {
                continue;
            }
            let of_row = || row * columns..row * columns + columns;
            let largest = of_row().max_by(|&a, &b| values[a].abs().total_cmp(&values[b].abs()))?;
            let divisor = values[largest] / scene.candidate[largest];
            if !divisor.is_finite() || !of_row().all(|i| scene.fits(i, values[i] / divisor)) {
                return None;
            }
            divisors[row] = divisor;
        }
        let known = divisors.iter().filter(|divisor| !divisor.is_nan()).count();
        (known > 1).then_some(Self { text, values, columns, divisors })
    }

    fn divided(&self, scene: &Scene<'_>, below: &[f64], words: String) -> Option<Pattern> {
        scene.try_numbers(|i| self.values[i] / below[i / self.columns], || words)
    }

    /// Tries divisors that are a function of the row, a multiple of that function, or that function plus a number.
    fn plainly(&self, scene: &Scene<'_>) -> Option<Pattern> {
        let text = self.text;
        DIVISORS.into_iter().find_map(|(name, of)| {
            let own: Vec<f64> = self.values.chunks_exact(self.columns).map(of).collect();
            let known = self.divisors.iter().zip(&own).find(|(divisor, _)| !divisor.is_nan());
            let (factor, more) = known.map(|(divisor, own)| (divisor / own, divisor - own))?;
            let times: Vec<f64> = own.iter().map(|own| factor * own).collect();
            let plus: Vec<f64> = own.iter().map(|own| more + own).collect();
            let by = number(scene, factor);
            let ways = [
                (own, format!("it is {text} over {name}")),
                (times, format!("it is {text} over {by} times {name}")),
                (plus, format!("{} is added to the divisor of {text}, {name}", plain(more))),
            ];
            ways.into_iter().find_map(|(below, words)| self.divided(scene, &below, words))
        })
    }

    /// Tries a separate divisor for each row, for divisors that follow no rule.
    fn with_a_number(&self, scene: &Scene<'_>) -> Option<Pattern> {
        let (least, most) = extremes(self.divisors.iter().copied().filter(|d| !d.is_nan()));
        let same = most - least < 1e-5 * least.abs();
        let text = self.text;
        let words = if same {
            format!("it is {text} over {} in every row", number(scene, least))
        } else {
            format!(
                "it is {text} over a number of each row, from {least:.6} to {most:.6}, that is not \
                 its sum: rows don't sum to 1"
            )
        };
        // Each row has to confirm its number with two more elements.
        if self.columns < 3 { None } else { self.divided(scene, &self.divisors, words) }
    }
}
