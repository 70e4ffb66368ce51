//! The largest difference that rounding can explain, element by element: a running error analysis
//! along the chain of operations.
//!
//! Both dumps computed each tensor by the same operation from their own inputs, so that
//!
//! ```text
//! |candidate − reference| ≤ rounding of the operation in both + |operation(candidate's inputs) −
//!                           operation(reference's inputs)|
//! ```
//!
//! and the second part follows from the distance of the inputs. That distance is never more than the inputs' own bounds
//! allow, and nearly always far less. Both dumps are at hand, so the bounds of the next tensor carry on the distance
//! itself if it is within its bound. So errors add along the chain as they are, not as in the worst case, and a mistake
//! of 10⁻⁵ in the last layer is found after a first layer whose bound is 10⁻³. If one of the dumps doesn't hold an
//! input, or the input is out of bounds, the bound is carried on: a wrong tensor doesn't excuse the tensors that are
//! made of it.

use tensor::{Dump, TensorName};

use super::rounding::Rounding;
use crate::chain::operation::{Rule, element};
use crate::chain::output::Logits;
use crate::chain::{Chain, Errors};

/// The bound of each element's difference, for all tensors for which one can be derived, of a candidate that is
/// compared with the reference that `chain` is made of.
///
/// `start` has the bounds of the parameters before the step: in a later step of a run, the parameters of
/// the two dumps already differ.
pub(super) fn derive(
    chain: &Chain<'_>,
    candidate: &Dump,
    rounding: &Rounding,
    start: &Errors,
) -> Errors {
    let (allowed, carried) = (Errors::new(), Errors::new());
    let mut bounds = Bounds { chain, candidate, rounding, allowed, carried };
    for name in chain.names() {
        let allowed = start.get(&name).cloned().or_else(|| bounds.bound(name));
        let Some(allowed) = allowed else { continue };
        bounds.carried.insert(name, bounds.carry(name, &allowed));
        bounds.allowed.insert(name, allowed);
    }
    bounds.allowed
}

/// The bounds of the tensors so far.
struct Bounds<'a> {
    chain: &'a Chain<'a>,
    candidate: &'a Dump,
    rounding: &'a Rounding,
    /// The bound of each element's difference.
    allowed: Errors,
    /// The error that the next operation has to expect in each element: the actual difference if it is
    /// within the bound, and the bound otherwise, or if the difference is unknown.
    carried: Errors,
}

impl Bounds<'_> {
    /// The error that the next operation has to expect in each element of a tensor.
    fn carry(&self, name: TensorName, allowed: &[f64]) -> Vec<f64> {
        let dumped = self.candidate.get(name).filter(|dumped| {
            dumped.data.len() == allowed.len() && self.chain.is_given_by_reference(name)
        });
        let (Some(candidate), Some(reference)) = (dumped, self.chain.get(name)) else {
            return allowed.to_vec();
        };
        // dz may be made of a `p` other than the dumped one: a fused kernel's, or exp(log_softmax). Such a
        // `p` is equally exact, but not equal.
        let exact = vec![0.0; allowed.len()];
        let recomputed = (name == TensorName::P).then(|| self.output_errors(&exact)).flatten();
        let recomputed = recomputed.unwrap_or(exact);
        // ANCHOR: carry
        let distance = candidate.data.iter().zip(reference).map(|(c, r)| (c - r).abs());
        // `min` takes the bound where the distance is NaN.
        let carried = distance.zip(allowed).zip(recomputed);
        carried.map(|((distance, &allowed), own)| (distance + own).min(allowed)).collect()
        // ANCHOR_END: carry
    }

    /// The bound of `p` if the last `z` has these errors.
    fn output_errors(&self, errors: &[f64]) -> Option<Vec<f64>> {
        let Self { chain, rounding, .. } = self;
        let z = chain.get(TensorName::Z(chain.layers()))?;
        let logits = Logits { z, errors, classes: chain.outputs() };
        let each = chain.losses().into_iter().map(|loss| logits.output_errors(loss, rounding));
        each.reduce(|a, b| a.into_iter().zip(b).map(|(a, b)| a.max(b)).collect())
    }

    /// The bound of one tensor from the carried errors of the tensors before it.
    fn bound(&self, name: TensorName) -> Option<Vec<f64>> {
        let Self { chain, rounding, .. } = *self;
        if name.is_given() {
            // If the two dumps differ here at all, they did not start from the same inputs.
            return Some(vec![0.0; chain.get(name)?.len()]);
        }
        let operation = chain.operation(name)?;
        let inputs = chain.inputs(&operation)?;
        // The errors that the inputs carry on; for the mask, the bound within which z may cross zero.
        let errors = operation.inputs.iter().map(|&input| {
            let is_mask = matches!((name, input), (TensorName::Dz(_), TensorName::Z(_)));
            let errors = if is_mask { &self.allowed } else { &self.carried };
            errors.get(&input).map(Vec::as_slice)
        });
        let errors: Vec<&[f64]> = errors.collect::<Option<_>>()?;
        Some(match operation.rule {
            // ANCHOR: sums
            Rule::Sum(sum) => {
                let terms = chain.terms(&operation, Some(&self.carried))?;
                let relative = sum.relative(terms.length, rounding);
                let tiny = rounding.tiny_term(name);
                if sum.right.is_none() {
                    return Some(terms.sums(|(x, d), _| d + relative * (x.abs() + d) + tiny));
                }
                let mut bound = terms.errors(relative, tiny);
                if sum.biased {
                    // Some levels add b to the sum of products, others start the sum with b.
                    let gamma = rounding.product_sum(sum.roundings(terms.length));
                    let bias = inputs[2].iter().zip(errors[2]).cycle();
                    for (bound, (b, d)) in bound.iter_mut().zip(bias) {
                        *bound += d + gamma * (b.abs() + d);
                    }
                }
                bound
            }
            // ANCHOR_END: sums
            Rule::Elementwise(rule) => {
                let error = |i: usize| {
                    let [values, errors] = [element(&inputs, i), element(&errors, i)];
                    let at = [(values[0], errors[0]), (values[1], errors[1])];
                    (rule.error)(&at, chain.settings(), rounding)
                };
                (0..inputs[0].len()).map(error).collect()
            }
            Rule::Output => self.output_errors(errors[0])?,
            Rule::Loss => {
                let logits = Logits { z: inputs[0], errors: errors[0], classes: chain.outputs() };
                let losses = chain.losses().into_iter();
                let each = losses.map(|loss| logits.loss_error(loss, inputs[1], rounding));
                vec![each.reduce(f64::max)?]
            }
        })
    }
}
