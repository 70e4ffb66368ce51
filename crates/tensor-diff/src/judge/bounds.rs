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
//! and the second part follows from the distance of the inputs. That distance is never more than
//! the inputs' own bounds allow, and nearly always far less. Both dumps are at hand, so the bounds of the
//! next tensor carry on the distance itself if it is within its bound. So errors add along the
//! chain as they are, not as in the worst case, and a mistake of 10⁻⁵ in the last layer is
//! found after a first layer whose bound is 10⁻³. If one of the dumps doesn't hold an input, or
//! the input is out of bounds, the bound is carried on: a wrong tensor doesn't excuse the tensors that
//! are made of it.

use std::collections::HashMap;

use tensor::{Dump, TensorName};

use super::rounding::Rounding;
use crate::chain::operation::Rule;
use crate::chain::output::Logits;
use crate::chain::{Chain, Errors, is_given};

/// The bounds of all tensors for which one can be derived.
pub(crate) struct Bounds {
    /// The bound of each element's difference.
    pub(crate) allowed: Errors,
    /// The error that the next operation has to expect in each element: the actual difference if it is
    /// within the bound, and the bound otherwise, or if the difference is unknown.
    carried: Errors,
}

impl Bounds {
    /// The bounds of a candidate that is compared with the reference that `chain` is made of.
    ///
    /// `start` has the bounds of the parameters before the step: in a later step of a run, the parameters of
    /// the two dumps already differ.
    pub(crate) fn derive(
        chain: &Chain<'_>,
        candidate: &Dump,
        rounding: &Rounding,
        start: &Errors,
    ) -> Self {
        let mut bounds = Self { allowed: HashMap::new(), carried: HashMap::new() };
        for name in chain.names() {
            let allowed = start.get(&name).cloned().or_else(|| bounds.bound(name, chain, rounding));
            let Some(allowed) = allowed else { continue };
            let carried = bounds.carry(name, &allowed, chain, candidate, rounding);
            bounds.allowed.insert(name, allowed);
            bounds.carried.insert(name, carried);
        }
        bounds
    }

    /// The error that the next operation has to expect in each element of a tensor.
    fn carry(
        &self,
        name: TensorName,
        allowed: &[f64],
        chain: &Chain<'_>,
        candidate: &Dump,
        rounding: &Rounding,
    ) -> Vec<f64> {
        let found = candidate
            .get(name)
            .filter(|found| found.data.len() == allowed.len() && chain.is_given_by_reference(name));
        let (Some(found), Some(reference)) = (found, chain.get(name)) else {
            return allowed.to_vec();
        };
        // dz may be made of a `p` other than the dumped one: a fused kernel's, or exp(log_softmax). Such a
        // `p` is equally exact, but not equal.
        let recomputed = match name {
            TensorName::P => self.output_errors(chain, None, rounding),
            _ => None,
        };
        let recomputed = recomputed.unwrap_or_else(|| vec![0.0; allowed.len()]);
        // ANCHOR: carry
        let distance = found.data.iter().zip(reference).map(|(c, r)| (c - r).abs());
        // `min` takes the bound where the distance is NaN.
        let carried = distance.zip(allowed).zip(recomputed);
        carried.map(|((distance, &allowed), own)| (distance + own).min(allowed)).collect()
        // ANCHOR_END: carry
    }

    /// The bound of `p` if the last `z` has these errors, or none.
    fn output_errors(
        &self,
        chain: &Chain<'_>,
        errors: Option<&[f64]>,
        rounding: &Rounding,
    ) -> Option<Vec<f64>> {
        let z = chain.get(TensorName::Z(chain.layers()))?;
        let exact = vec![0.0; z.len()];
        let logits = Logits { z, errors: errors.unwrap_or(&exact), classes: chain.outputs() };
        let each = chain.losses().into_iter().map(|loss| logits.output_errors(loss, rounding));
        each.reduce(|a, b| a.into_iter().zip(b).map(|(a, b)| a.max(b)).collect())
    }

    /// The bound of one tensor from the carried errors of the tensors before it.
    fn bound(&self, name: TensorName, chain: &Chain<'_>, rounding: &Rounding) -> Option<Vec<f64>> {
        if is_given(name) {
            // If the two dumps differ here at all, they did not start from the same inputs.
            return Some(vec![0.0; chain.get(name)?.len()]);
        }
        let operation = chain.operation(name)?;
        // Values, and the errors that they carry on; for the mask, the bound within which z may cross zero.
        let inputs: Vec<(&[f64], &[f64])> = operation
            .inputs
            .iter()
            .map(|&input| {
                let is_mask = matches!((name, input), (TensorName::Dz(_), TensorName::Z(_)));
                let errors = if is_mask { &self.allowed } else { &self.carried };
                Some((chain.read(&operation, input)?, &errors.get(&input)?[..]))
            })
            .collect::<Option<_>>()?;
        Some(match operation.rule {
            // ANCHOR: sums
            Rule::Sum(sum) if sum.right.is_some() => {
                let product = chain.product(&operation, Some(&self.carried))?;
                let relative = sum.relative(product.length, rounding);
                let mut bound = product.errors(relative, rounding.tiny());
                if let Some((bias, errors)) = inputs.last().filter(|_| sum.biased) {
                    // Some levels add b to the sum of products, others start the sum with b.
                    let gamma = rounding.product_sum(sum.roundings(product.length));
                    let each = bias.iter().zip(*errors).map(|(b, d)| d + gamma * (b.abs() + d));
                    let each: Vec<f64> = each.collect();
                    bound.iter_mut().zip(each.iter().cycle()).for_each(|(all, b)| *all += b);
                }
                bound
            }
            // ANCHOR_END: sums
            Rule::Sum(sum) => {
                let mut bound = vec![0.0; chain.shape(name)?[0]];
                let gamma = sum.relative(chain.batch(), rounding);
                let outputs = bound.len().max(1);
                for (i, (x, d)) in inputs[0].0.iter().zip(inputs[0].1).enumerate() {
                    bound[i % outputs] += d + gamma * (x.abs() + d) + rounding.tiny();
                }
                bound
            }
            Rule::Elementwise(rule) => {
                let element = |i: usize| {
                    let at = |&(values, errors): &(&[f64], &[f64])| (values[i], errors[i]);
                    let at = [at(&inputs[0]), inputs.last().map_or((0.0, 0.0), at)];
                    (rule.error)(&at, chain.settings(), rounding)
                };
                (0..inputs[0].0.len()).map(element).collect()
            }
            Rule::Output => self.output_errors(chain, Some(inputs[0].1), rounding)?,
            Rule::Loss => {
                let (z, errors) = inputs[0];
                let logits = Logits { z, errors, classes: chain.outputs() };
                let losses = chain.losses().into_iter();
                let each = losses.map(|loss| logits.loss_error(loss, inputs[1].0, rounding));
                vec![each.reduce(f64::max)?]
            }
        })
    }
}
