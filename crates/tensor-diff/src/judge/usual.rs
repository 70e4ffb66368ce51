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

use tensor::TensorName;

use super::context::Context;
use super::rounding::Rounding;
use crate::chain::operation::{Rule, element};
use crate::chain::{Chain, Errors, count};
use crate::describe::list;
use crate::explain;
use crate::finding::Finding;

/// The mean square of a rounding error, in squares of the unit roundoff: that of a uniform distribution.
const UNIFORM: f64 = 1.0 / 3.0;

/// The variance of each element, for tensors that are sums or are made of a sum that the dump doesn't hold.
pub(super) fn variances(context: &Context<'_>) -> Errors {
    let mut all = Errors::new();
    // The variances that later operations inherit: none from tensors in the dump, since they read those exactly.
    let mut carried = Errors::new();
    let Some(chain) = &context.chain else { return all };
    for name in chain.names() {
        let Some(variance) = variance(name, chain, &carried, &context.rounding) else { continue };
        let is_dumped = context.candidate.get(name).is_some();
        (if is_dumped { &mut all } else { &mut carried }).insert(name, variance);
    }
    all
}

/// Whether errors of this size are usual for rounding. For each element, there are four numbers: the sum in the dump,
/// the sum that a hypothesis predicts, the right sum, and the usual error of the right sum. Usual errors grow with the
/// sum.
pub(crate) fn is_usual<'i>(elements: impl IntoIterator<Item = [f64; 4]> + 'i) -> bool {
    let sums = elements.into_iter().fold([0.0; 4], |sums, [held, made, right, usual]: [f64; 4]| {
        let squares = [(held - made).powi(2), made.powi(2), right.powi(2), usual.powi(2)];
        [0, 1, 2, 3].map(|at| sums[at] + squares[at])
    });
    let [errors, made, right, usual] = sums;
    errors <= FAR * FAR * usual * (made / right).max(1.0)
}

/// The usual error of each element of a sum that is made of tensors in the dump.
pub(crate) fn usual_errors(context: &Context<'_>, name: TensorName) -> Option<Vec<f64>> {
    let chain = context.chain.as_ref()?;
    let inputs = chain.operation(name)?.inputs;
    let all_dumped = inputs.iter().all(|&input| chain.is_given_by_reference(input));
    let variance = variance(name, chain, &Errors::new(), &context.rounding)?;
    all_dumped.then(|| variance.iter().map(|variance| variance.sqrt()).collect())
}

fn variance(
    name: TensorName,
    chain: &Chain<'_>,
    carried: &Errors,
    rounding: &Rounding,
) -> Option<Vec<f64>> {
    let operation = chain.operation(name)?;
    let inputs = chain.inputs(&operation)?;
    let unit = UNIFORM * rounding.unit().powi(2);
    let made = chain.get(name)?;
    match operation.rule {
        Rule::Sum(sum) => {
            let terms = chain.terms(&operation, Some(carried))?;
            let n = count(terms.length);
            let least = rounding.tiny_term(name);
            let tiny = |n: f64, size: f64| n * (least * (1.0 + size)).powi(2);
            let mut squares = terms.sums(|(p, _), (q, _)| (p * q).powi(2));
            let inherited = match sum.right {
                Some(_) => {
                    terms.sums(|(p, v), (q, w)| p * p * w + q * q * v + tiny(n, p.abs() + q.abs()))
                }
                None => vec![n * tiny(n, 1.0); made.len()],
            };
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
            let variance = |i: usize| {
                let mut at = element(&inputs, i);
                let (base, rest) = (rule.of)(&at, chain.settings());
                at[place] += carried[i].sqrt();
                let (other_base, other_rest) = (rule.of)(&at, chain.settings());
                let moved = other_base + other_rest - (base + rest);
                moved.powi(2)
                    + unit * (rest.powi(2) + (base + rest).powi(2))
                    + rounding.tiny().powi(2)
            };
            Some((0..made.len()).map(variance).collect())
        }
        // These operations round hardly more than once, so usual errors come close to the bound.
        Rule::Output | Rule::Loss => None,
    }
}

/// The words by which a warning about unusual errors is recognised: for a run, only the first of them is shown.
pub(super) const FURTHER: &str = "times further off than rounding usually gets";

/// A tensor that is further off than this many times the usual error gets a warning.
const FAR: f64 = 16.0;

/// A tensor within its bound that is far further off than rounding usually gets, how many times, and the reason if one
/// was found.
pub(super) type Unusual = (TensorName, f64, Option<String>);

/// The tensor, if it is unusually far off; with the reason if `explained`.
pub(super) fn unusual(
    finding: &Finding<'_>,
    variances: &[f64],
    explained: bool,
) -> Option<Unusual> {
    let name = finding.row.name;
    let expected = &finding.expected?.data;
    let candidate = &finding.context.candidate.get(name)?.data;
    let squares = expected.iter().zip(candidate).map(|(e, c)| (c - e).powi(2));
    // NaN or infinity if rounding can't move any element.
    let times = (squares.sum::<f64>() / variances.iter().sum::<f64>()).sqrt();
    let why = || explain::errors(finding).or_else(|| too_small(expected, candidate));
    let is_far = times.is_finite() && times > FAR;
    is_far.then(|| (name, times, explained.then(why).flatten()))
}

/// The warning about all of them, in one sentence.
pub(super) fn warning(all: &[Unusual]) -> Option<String> {
    let names = list(all.iter().map(|(name, ..)| name));
    let times = list(all.iter().map(|(_, times, _)| format!("{times:.0}")));
    let (are, why) = match all {
        [] => return None,
        [(.., why)] => ("is within its bound", why.as_ref().map(|why| format!(": {why}"))),
        [(first, _, why), ..] => {
            ("are within their bounds", why.as_ref().map(|why| format!("; in {first}, {why}")))
        }
    };
    Some(format!("{names} {are}, but {times} {FURTHER}{}", why.unwrap_or_default()))
}

/// A reason, if far more elements are too small in magnitude than too large.
fn too_small(expected: &[f64], candidate: &[f64]) -> Option<String> {
    let off = || expected.iter().zip(candidate).filter(|(e, c)| e != c);
    let (all, small) = (off().count(), off().filter(|(e, c)| c.abs() < e.abs()).count());
    // More than four standard deviations, if each sign of the error were equally likely.
    let many = count(small) - 0.5 * count(all) > 2.0 * count(all).sqrt();
    (many && 4 * small >= 3 * all).then(|| {
        format!("{small} of {all} elements are too small in magnitude, as if sums were cut off and not rounded")
    })
}
