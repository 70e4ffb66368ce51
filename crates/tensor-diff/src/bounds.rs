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
//! and the second part follows from how far the inputs lie apart. That distance is never more than
//! what the inputs' own bounds allow, and nearly always far less; since both dumps are at hand, the
//! distance itself is what is carried on, wherever it lies within its bound. So errors add along the
//! chain as they are, not as the worst case has them, and a mistake of 10⁻⁵ in the last layer is
//! found behind a first layer whose bound is 10⁻³. Where one of the dumps doesn't hold an input, or
//! the input is out of bounds, the bound is carried on: a wrong tensor doesn't excuse what is made
//! of it.

use std::collections::HashMap;

use tensor::{Dump, TensorName};

use crate::chain::{Chain, Errors, count, is_given};
use crate::output::Logits;
use crate::rounding::Rounding;

/// How many roundings the factor 1/B adds to a term, wherever it is applied: to each `dz`, or to
/// the sums that are made of unscaled ones; as a division, or as a product with a rounded
/// reciprocal, or with one that was itself a product.
const SCALING: usize = 4;

/// Single precision from tensor cores, as three TF32 numbers a factor, takes more than a rounding for each
/// term where a sum has few: `rounding` says how many.
const FEW_TERMS: usize = 13;

/// How many roundings a term takes part in when a sum of `terms` products and a bias is made.
pub(crate) fn with_bias(terms: usize) -> usize {
    (terms + 1).max(FEW_TERMS)
}

/// The bounds of all tensors that one can be derived for.
pub(crate) struct Bounds {
    /// What each element may differ by.
    pub(crate) allowed: Errors,
    /// What the next operation has to expect: how far each element does differ where that is
    /// allowed, and what is allowed where it isn't, or isn't known.
    carried: Errors,
}

impl Bounds {
    /// The bounds of a candidate that is compared with the reference that `chain` is made of.
    ///
    /// `start` is what the parameters may be apart before the step: those of a later step of a run,
    /// in which each of the two went its own way.
    pub(crate) fn derive(
        chain: &Chain<'_>,
        candidate: &Dump,
        rounding: &Rounding,
        start: &Errors,
    ) -> Self {
        let mut bounds = Self { allowed: HashMap::new(), carried: HashMap::new() };
        for name in chain.names() {
            let allowed = start.get(&name).cloned().or_else(|| bounds.of(name, chain, rounding));
            let Some(allowed) = allowed else { continue };
            let carried = bounds.carry(name, &allowed, chain, candidate, rounding);
            bounds.allowed.insert(name, allowed);
            bounds.carried.insert(name, carried);
        }
        bounds
    }

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
        // The `p` that dz is made of may be another than the one that is dumped: a fused kernel's,
        // or exp(log_softmax). It is as exact, but not equal.
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

    /// The bound of `p` when the last `z` is as far off as `errors` say, or not at all.
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

    /// The bound of one tensor from what the tensors before it carry on.
    fn of(&self, name: TensorName, chain: &Chain<'_>, rounding: &Rounding) -> Option<Vec<f64>> {
        // Values, and what they carry on.
        let carried = |name: TensorName| {
            let (values, errors) = (chain.get(name)?, self.carried.get(&name)?);
            Some(values.iter().copied().zip(errors.iter().copied()))
        };
        let last = TensorName::Z(chain.layers());
        match name {
            // Both dumps carry the same f32 values or did not start from the same inputs.
            _ if is_given(name) => Some(vec![0.0; chain.get(name)?.len()]),

            // z = a_prev · wᵀ + b: K products and K additions, so no term is rounded more than
            // K + 1 times; in sums of few terms it may be more.
            TensorName::Z(layer) => {
                let product = chain.product(name, Some(&self.carried))?;
                let bias = carried(TensorName::B(layer))?;
                let steps = with_bias(product.length);
                let mut bound = product.errors(rounding.product(steps), rounding.tiny());
                // Some add b to the sum of products, others begin it with b.
                let gamma = rounding.product_sum(steps);
                for row in bound.chunks_exact_mut(product.columns.max(1)) {
                    for (bound, (b, d)) in row.iter_mut().zip(bias.clone()) {
                        *bound += d + gamma * (b.abs() + d);
                    }
                }
                Some(bound)
            }

            // relu keeps distances, but where the interval z ± d lies below 0, or a part of it.
            // Nothing is rounded, except here: z + d may lose what is left of it.
            TensorName::A(layer) => {
                let z = carried(TensorName::Z(layer))?;
                let bound = |(z, d): (f64, f64)| {
                    let reached = z + d + 2.0 * f64::EPSILON * (z.abs() + d);
                    if reached < 0.0 { 0.0 } else { reached.min(d) }
                };
                Some(z.map(bound).collect())
            }

            TensorName::P => self.output_errors(chain, Some(self.carried.get(&last)?), rounding),
            TensorName::Loss => {
                let (z, errors) = (chain.get(last)?, self.carried.get(&last)?);
                let logits = Logits { z, errors, classes: chain.outputs() };
                let y = chain.get(TensorName::Y)?;
                let losses = chain.losses().into_iter();
                let widest = losses.map(|loss| logits.loss_error(loss, y, rounding));
                widest.reduce(f64::max).map(|bound| vec![bound])
            }

            // dz = (p − y) / B
            TensorName::Dz(layer) if layer == chain.layers() => {
                let (p, y) = (carried(TensorName::P)?, chain.get(TensorName::Y)?);
                let (batch, gamma) = (count(chain.batch()), rounding.gamma(1 + SCALING));
                let bound = |((p, d), y): ((f64, f64), &f64)| {
                    (d + gamma * ((p - y).abs() + d)) / batch + rounding.tiny()
                };
                Some(p.zip(y).map(bound).collect())
            }

            // dz = da where z > 0 and 0 elsewhere. Within its own bound of the kink, z may lie on
            // the other side, and all of da appear or disappear.
            TensorName::Dz(layer) => {
                let z = chain.mask(layer)?.iter().zip(self.allowed.get(&TensorName::Z(layer))?);
                let bound = |((&z, &z_error), (da, da_error)): ((&f64, &f64), (f64, f64))| {
                    if z > z_error {
                        da_error
                    } else if z < -z_error {
                        0.0
                    } else {
                        da.abs() + da_error
                    }
                };
                Some(z.zip(carried(TensorName::Da(layer))?).map(bound).collect())
            }

            // ANCHOR: gradients
            // dw = dzᵀ · a_prev sums over the batch, da = dz_next · w_next over the next layer.
            TensorName::Dw(_) | TensorName::Da(_) => {
                let product = chain.product(name, Some(&self.carried))?;
                let relative = rounding.product(product.length + SCALING);
                Some(product.errors(relative, rounding.tiny()))
            }
            // ANCHOR_END: gradients

            // db = Σ_batch dz: as a sum, or as a product with ones.
            TensorName::Db(layer) => {
                let gamma = rounding.gamma(chain.batch() + SCALING);
                let mut bound = vec![0.0; chain.shape(name)?[0]];
                let outputs = bound.len().max(1);
                for (i, (dz, d)) in carried(TensorName::Dz(layer))?.enumerate() {
                    bound[i % outputs] += d + gamma * (dz.abs() + d) + rounding.tiny();
                }
                Some(bound)
            }

            TensorName::WNext(layer) => {
                let (w, dw) = (TensorName::W(layer), TensorName::Dw(layer));
                Some(update(chain, rounding, carried(w)?, carried(dw)?))
            }
            TensorName::BNext(layer) => {
                let (b, db) = (TensorName::B(layer), TensorName::Db(layer));
                Some(update(chain, rounding, carried(b)?, carried(db)?))
            }

            TensorName::X | TensorName::Y | TensorName::W(_) | TensorName::B(_) => None,
        }
    }
}

/// `w − lr·dw`: the product is rounded (a factor that is folded into the learning rate makes two
/// of it), and the difference once more.
fn update(
    chain: &Chain<'_>,
    rounding: &Rounding,
    parameter: impl Iterator<Item = (f64, f64)>,
    gradient: impl Iterator<Item = (f64, f64)>,
) -> Vec<f64> {
    let rate = chain.learning_rate();
    let bound = |((w, apart), (dw, d)): ((f64, f64), (f64, f64))| {
        let step = apart + rate.abs() * (d + rounding.gamma(1 + SCALING) * (dw.abs() + d));
        step + rounding.gamma(1) * ((w - rate * dw).abs() + step) + rounding.tiny()
    };
    parameter.zip(gradient).map(bound).collect()
}
