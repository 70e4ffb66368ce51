//! The usual size of rounding errors, in addition to the bound of how large they may get.
//!
//! The bound of a sum of n terms allows n roundings that all err in the same direction. Roundings to nearest don't:
//! they err up and down, and their errors add up like the steps of a random walk, so that they grow with the root of n
//! (N. Higham and T. Mary, "A New Approach to Probabilistic Rounding Error Analysis", SIAM Journal on Scientific
//! Computing 41, 2019). The error of a sum of 784 terms is therefore usually hundreds of times smaller than its bound,
//! and stays within it even if a level rounds the factors to TF32, leaves a low part out or rounds towards zero. The
//! errors of a whole tensor together show such a mistake.
//!
//! Each rounding counts as an independent error, uniform within the unit roundoff, so that variances add up. In a
//! sum, each product and each partial sum is rounded. The order of summation is unknown, so the partial sums are
//! modelled as a random walk from 0 to the sum. The mean square of a partial sum is then a third of the sum's
//! square plus a sixth of the sum of the terms' squares.

use tensor::{Dump, TensorName};

use super::rounding::Rounding;
use crate::chain::operation::Rule;
use crate::chain::{Chain, Errors, count, is_given};
use crate::explain;
use crate::finding::Finding;

/// The mean square of a rounding error, in squares of the unit roundoff: that of a uniform distribution.
const UNIFORM: f64 = 1.0 / 3.0;

/// The variance of each element, for tensors that are sums or are made of a sum that the dump doesn't hold.
pub(super) fn variances(chain: &Chain<'_>, candidate: &Dump, rounding: &Rounding) -> Errors {
    let mut all = Errors::new();
    // The variances that later operations inherit: none from tensors in the dump, since they read those exactly.
    let mut carried = Errors::new();
    for name in chain.names().into_iter().filter(|&name| !is_given(name)) {
        let Some(variance) = variance(name, chain, &carried, rounding) else { continue };
        if candidate.get(name).is_none() {
            carried.insert(name, variance);
        } else {
            all.insert(name, variance);
        }
    }
    all
}

fn variance(
    name: TensorName,
    chain: &Chain<'_>,
    carried: &Errors,
    rounding: &Rounding,
) -> Option<Vec<f64>> {
    let operation = chain.operation(name)?;
    let inputs: Vec<&[f64]> = operation
        .inputs
        .iter()
        .map(|&input| chain.read(&operation, input))
        .collect::<Option<_>>()?;
    let unit = UNIFORM * rounding.unit().powi(2);
    let made = chain.get(name)?;
    match operation.rule {
        Rule::Sum(sum) => {
            // Every factor and product below the smallest normal number may be flushed to 0.
            let tiny = |n: f64, size: f64| n * (rounding.tiny() * (1.0 + size)).powi(2);
            let (length, mut squares, inherited) = match chain.product(&operation, Some(carried)) {
                Some(product) => {
                    let square = |(p, _): (f64, f64), (q, _): (f64, f64)| (p * q).powi(2);
                    let n = count(product.length);
                    let inherited = |(p, v): (f64, f64), (q, w): (f64, f64)| {
                        p * p * w + q * q * v + tiny(n, p.abs() + q.abs())
                    };
                    (product.length, product.sums(square), product.sums(inherited))
                }
                None => {
                    let mut squares = vec![0.0; made.len()];
                    for row in inputs[0].chunks_exact(made.len().max(1)) {
                        squares.iter_mut().zip(row).for_each(|(all, x)| *all += x * x);
                    }
                    let n = count(chain.batch());
                    (chain.batch(), squares, vec![n * tiny(n, 1.0); made.len()])
                }
            };
            let n = count(length);
            // ANCHOR: variance
            // A level may shorten both factors of a term first.
            let shortened = if sum.right.is_some() { rounding.shortened().powi(2) } else { 0.0 };
            let of_terms = unit * (1.0 + n / 6.0) + 2.0 * UNIFORM * shortened;
            for ((variance, made), inherited) in squares.iter_mut().zip(made).zip(inherited) {
                *variance =
                    of_terms * *variance + unit * (1.0 + n / 3.0) * made.powi(2) + inherited;
            }
            // ANCHOR_END: variance
            Some(squares)
        }
        Rule::Elementwise(rule) => {
            // The variance is only needed if an input is made of a sum that the dump doesn't hold: the bounds of other
            // results are tight already.
            let place = operation.inputs.iter().position(|input| carried.contains_key(input))?;
            let carried = &carried[&operation.inputs[place]];
            let element = |i: usize| {
                let mut at = [inputs[0][i], inputs.last().map_or(0.0, |other| other[i])];
                let (base, rest) = (rule.of)(&at, chain.settings());
                at[place] += carried[i].sqrt();
                let (other_base, other_rest) = (rule.of)(&at, chain.settings());
                let moved = other_base + other_rest - (base + rest);
                moved.powi(2)
                    + unit * (rest.powi(2) + (base + rest).powi(2))
                    + rounding.tiny().powi(2)
            };
            Some((0..made.len()).map(element).collect())
        }
        // Hardly more than one rounding, so usual errors come close to the bound.
        Rule::Output | Rule::Loss => None,
    }
}

/// A tensor within its bound that is far further off than rounding usually gets.
pub(super) struct Unusual {
    name: TensorName,
    times: f64,
    /// The reason for its errors, if one was found.
    why: Option<String>,
}

/// The words by which such a warning is recognised; a run only shows the first.
pub(super) const FURTHER: &str = "times further off than rounding usually gets";

/// A tensor that is further off than this many times the usual error gets a warning.
const FAR: f64 = 16.0;

impl Unusual {
    /// The tensor, if it is unusually far off; with the reason if `explained`.
    pub(super) fn new(
        finding: &Finding<'_>,
        found: &[f64],
        variances: &[f64],
        explained: bool,
    ) -> Option<Self> {
        let expected = &finding.expected?.data;
        let times = times(expected, found, variances).filter(|&times| times > FAR)?;
        let why = || explain::errors(finding).or_else(|| too_small(expected, found));
        let why = explained.then(why).flatten();
        Some(Self { name: finding.row.name, times, why })
    }
}

/// The warning about all of them, in one sentence.
pub(super) fn warning(all: &[Unusual]) -> Option<String> {
    let listed = |each: Vec<String>| match &each[..] {
        [rest @ .., last] if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
        _ => each.concat(),
    };
    let names = listed(all.iter().map(|one| one.name.to_string()).collect());
    let times = listed(all.iter().map(|one| format!("{:.0}", one.times)).collect());
    let are = if all.len() == 1 { "is within its bound" } else { "are within their bounds" };
    let first = all.first()?;
    let why = match &first.why {
        Some(why) if all.len() == 1 => format!(": {why}"),
        Some(why) => format!("; in {}, {why}", first.name),
        None => String::new(),
    };
    Some(format!("{names} {are}, but {times} {FURTHER}{why}"))
}

/// How many times further off all elements together are than rounding usually gets; `None` if rounding can't move any
/// element.
fn times(expected: &[f64], found: &[f64], variances: &[f64]) -> Option<f64> {
    let (mut errors, mut usual) = (0.0, 0.0);
    for ((e, c), variance) in expected.iter().zip(found).zip(variances) {
        errors += (c - e).powi(2);
        usual += variance;
    }
    let times = (errors / usual).sqrt();
    times.is_finite().then_some(times)
}

/// A reason, if far more elements are too small in magnitude than too large.
fn too_small(expected: &[f64], found: &[f64]) -> Option<String> {
    let off = || expected.iter().zip(found).filter(|(e, c)| e != c);
    let (all, small) = (off().count(), off().filter(|(e, c)| c.abs() < e.abs()).count());
    // More than four standard deviations, if each sign of the error were equally likely.
    let many = count(small) - 0.5 * count(all) > 2.0 * count(all).sqrt();
    (many && 4 * small >= 3 * all).then(|| {
        format!("{small} of {all} elements are too small in magnitude, as if sums were cut off and not rounded")
    })
}
