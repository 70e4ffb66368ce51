//! Operations that leave an input out, read it wrongly, or take another one in its place; and updates with a wrong
//! step.

use tensor::{Loss, TensorName};

use super::super::{Pattern, numbers};
use super::named;
use crate::chain::operation::Operation;
use crate::chain::product::{Factor, Product};
use crate::finding::{PatternKind, Wrong};

impl Wrong<'_> {
    /// `w − k·lr·dw` with one `k` for all elements.
    pub(super) fn step_factor(&self) -> Option<Pattern> {
        let (parameter, gradient, w, dw) = self.update()?;
        let rate = self.chain.learning_rate();
        let is_step = |k: f64, at_least: usize| {
            let stepped: Vec<f64> = w.iter().zip(dw).map(|(w, dw)| w - k * rate * dw).collect();
            self.is_made(&stepped, 2.0 * k.abs().max(1.0), at_least)
        };
        let without_rate = format!("it is {parameter} - {gradient}: the learning rate is missing");
        let known = self.known_factors().into_iter();
        let known = known.map(|(k, text)| (k, text.replacen("it is", "the step is", 1)));
        let mut known = [(1.0 / rate, without_rate)].into_iter().chain(known);
        if let Some((_, text)) = known.find(|&(k, _)| is_step(k, 1)) {
            return Some(Pattern::new(PatternKind::StepFactor, text));
        }
        let moved: f64 =
            w.iter().zip(dw).zip(self.candidate).map(|((w, dw), c)| (w - c) * dw).sum();
        let factor = moved / (rate * dw.iter().map(|dw| dw * dw).sum::<f64>());
        named(factor.is_finite() && is_step(factor, 3), PatternKind::StepFactor, || {
            let clipped = numbers::of_global_norm(self.chain, factor);
            let clipped = clipped.map_or_else(String::new, |how| format!(", {how}"));
            format!("the step is {factor:.6} times what it should be{clipped}")
        })
    }

    /// The result of the operation if it leaves something out or takes something else.
    pub(super) fn wrong_operation(&self) -> Option<Pattern> {
        let last = self.chain.layers();
        let equal = |other: TensorName, kind, what: &str| {
            let text = || format!("it equals {other}: {what} was not applied");
            named(self.equals(other), kind, text)
        };
        match self.name {
            TensorName::Z(layer) => {
                let bias = self.chain.get(TensorName::B(layer))?;
                let with = |values: &[f64], sign: f64| -> Vec<f64> {
                    values.iter().zip(bias.iter().cycle()).map(|(z, b)| z + sign * b).collect()
                };
                let without = with(self.expected, -1.0);
                named(self.is_made_by_mistake(&without), PatternKind::BiasMissing, || {
                    format!("it is the product alone: {} was not added", TensorName::B(layer))
                })
                .or_else(|| {
                    self.column_major_weights(TensorName::W(layer), |values| with(&values, 1.0))
                })
            }
            TensorName::A(layer) => {
                equal(TensorName::Z(layer), PatternKind::ReluNotApplied, "relu")
            }
            TensorName::P => {
                let function = match self.chain.losses()[..] {
                    [Loss::CrossEntropy] => "softmax",
                    [Loss::Bce] => "sigmoid",
                    _ => "softmax or sigmoid",
                };
                equal(TensorName::Z(last), PatternKind::OutputFunctionMissing, function)
            }
            TensorName::Dz(layer) if layer < last => {
                let mask = format!("the mask [{} > 0]", TensorName::Z(layer));
                equal(TensorName::Da(layer), PatternKind::MaskMissing, &mask)
            }
            TensorName::Dw(_) => {
                let product = self.product()?;
                self.one_sample(|sample| product.term(sample))
            }
            TensorName::Db(layer) => {
                let dz = self.chain.get(TensorName::Dz(layer))?;
                let outputs = self.candidate.len();
                self.one_sample(|sample| dz[sample * outputs..][..outputs].to_vec())
            }
            TensorName::Da(layer) => {
                let (w, next) = (TensorName::W(layer + 1), TensorName::WNext(layer + 1));
                let operation = self.chain.operation(self.name)?;
                let inputs = vec![operation.inputs[0], next];
                let updated = self.chain.made_by(&Operation { inputs, ..operation });
                let is = updated.is_some_and(|updated| self.is_made_by_mistake(&updated));
                named(is, PatternKind::UpdatedWeights, || {
                    format!(
                        "it is the product with {next}: the update ran before the gradient was passed on"
                    )
                })
                .or_else(|| self.column_major_weights(w, |values| values))
            }
            TensorName::WNext(_) | TensorName::BNext(_) => {
                let (parameter, gradient, w, dw) = self.update()?;
                let rate = self.chain.learning_rate();
                let wrong: Vec<f64> = w.iter().zip(dw).map(|(w, dw)| w + rate * dw).collect();
                named(self.is_made_by_mistake(&wrong), PatternKind::UpdateSign, || {
                    format!("it is {parameter} + lr * {gradient}: the step has the wrong sign")
                })
            }
            _ => None,
        }
    }

    fn product(&self) -> Option<Product<'_>> {
        self.chain.product(&self.chain.operation(self.name)?, None)
    }

    /// The product of `z` or `da` when the weights' buffer is read in the other order.
    fn column_major_weights(
        &self,
        weights: TensorName,
        finished: impl Fn(Vec<f64>) -> Vec<f64>,
    ) -> Option<Pattern> {
        let product = self.product()?;
        let w = self.chain.get(weights)?;
        let right = match self.name {
            TensorName::Z(_) => Factor::by_columns(w, None, product.columns),
            _ => Factor::by_rows(w, None, product.length),
        };
        let misread = finished(Product { right, ..product }.values());
        named(self.is_made_by_mistake(&misread), PatternKind::WeightsReadColumnMajor, || {
            format!("it is the product with {weights} read in column-major order")
        })
    }

    /// The gradient of the first sample, or of the last.
    fn one_sample(&self, of: impl Fn(usize) -> Vec<f64>) -> Option<Pattern> {
        let last = self.chain.batch().checked_sub(1).filter(|&last| last > 0)?;
        let first = "only sample 0 of the batch counts: row-0 indexing".to_owned();
        let overwritten = format!(
            "only the last sample of the batch, {last}, counts: overwritten where it should be added"
        );
        [(0, first), (last, overwritten)].into_iter().find_map(|(sample, text)| {
            named(self.is_made_by_mistake(&of(sample)), PatternKind::OneSampleOnly, || text)
        })
    }
}
