//! What a tensor becomes when the operation that makes it leaves something out, or takes something
//! else: each mistake is made, from the reference's tensors, and compared with the candidate.

use tensor::{Loss, TensorName};

use crate::pattern::{Pattern, PatternKind, Suspect, pattern};
use crate::product::{Factor, Product};

impl Suspect<'_> {
    /// The parameter before the step and its gradient, for a parameter after it.
    const fn updated_from(&self) -> Option<(TensorName, TensorName)> {
        match self.name {
            TensorName::WNext(layer) => Some((TensorName::W(layer), TensorName::Dw(layer))),
            TensorName::BNext(layer) => Some((TensorName::B(layer), TensorName::Db(layer))),
            _ => None,
        }
    }

    pub(crate) fn not_updated(&self) -> Option<Pattern> {
        let (parameter, _) = self.updated_from()?;
        (self.candidate == self.get(parameter)?).then(|| {
            let text = format!("it equals {parameter}: the update was not applied");
            pattern(PatternKind::NotUpdated, text)
        })
    }

    /// Whether the candidate is what a mistake makes. Made of the candidate's inputs rather than
    /// the reference's, it may be a few bounds off; the mistake has to move an element by more.
    fn is_made_by_mistake(&self, mistaken: &[f64]) -> bool {
        let moved = mistaken.iter().zip(self.reference).map(|(mistaken, r)| mistaken - r);
        self.is(mistaken, 4.0) && self.standing_out(moved, 4.0) > 0
    }

    /// What this tensor becomes when the operation that makes it leaves something out or takes
    /// something else.
    pub(crate) fn wrong_operation(&self) -> Option<Pattern> {
        let last = self.chain.layers();
        match self.name {
            TensorName::Z(layer) => {
                let bias = self.get(TensorName::B(layer))?;
                let cycle = || bias.iter().cycle();
                let without: Vec<f64> =
                    self.reference.iter().zip(cycle()).map(|(z, b)| z - b).collect();
                if self.is_made_by_mistake(&without) {
                    let text =
                        format!("it is the product alone: {} was not added", TensorName::B(layer));
                    return Some(pattern(PatternKind::BiasMissing, text));
                }
                let misread = self.misread_weights(layer, TensorName::W(layer))?;
                let with_bias: Vec<f64> = misread.iter().zip(cycle()).map(|(z, b)| z + b).collect();
                self.is_made_by_mistake(&with_bias)
                    .then(|| column_major_weights(TensorName::W(layer)))
            }
            TensorName::A(layer) if self.equals(TensorName::Z(layer)) => Some(pattern(
                PatternKind::ReluNotApplied,
                format!("it equals {}: relu was not applied", TensorName::Z(layer)),
            )),
            TensorName::P if self.equals(TensorName::Z(last)) => {
                let function = match self.chain.losses()[..] {
                    [Loss::CrossEntropy] => "softmax",
                    [Loss::Bce] => "sigmoid",
                    _ => "softmax or sigmoid",
                };
                Some(pattern(
                    PatternKind::OutputFunctionMissing,
                    format!("it equals {}: {function} was not applied", TensorName::Z(last)),
                ))
            }
            TensorName::Dz(layer) if layer < last && self.equals(TensorName::Da(layer)) => {
                let text = format!(
                    "it equals {}: the mask [{} > 0] was not applied",
                    TensorName::Da(layer),
                    TensorName::Z(layer)
                );
                Some(pattern(PatternKind::MaskMissing, text))
            }
            TensorName::Dw(layer) => {
                let product = self.chain.product(TensorName::Dw(layer), None)?;
                self.one_sample(|sample| product.term(sample))
            }
            TensorName::Db(layer) => {
                let dz = self.get(TensorName::Dz(layer))?;
                let outputs = self.candidate.len();
                self.one_sample(|sample| dz[sample * outputs..][..outputs].to_vec())
            }
            TensorName::Da(layer) => {
                let (w, next) = (TensorName::W(layer + 1), TensorName::WNext(layer + 1));
                let updated = self.chain.product_with(layer, next, None);
                if updated.is_some_and(|product| self.is_made_by_mistake(&product.values())) {
                    let text = format!(
                        "it is the product with {next}: the update ran before the gradient was \
                         passed on"
                    );
                    return Some(pattern(PatternKind::UpdatedWeights, text));
                }
                let misread = self.misread_weights(layer, w)?;
                self.is_made_by_mistake(&misread).then(|| column_major_weights(w))
            }
            TensorName::WNext(_) | TensorName::BNext(_) => self.wrong_update(),
            _ => None,
        }
    }

    /// The product of `z` or `da` when the weights' buffer is read in the other order.
    fn misread_weights(&self, layer: usize, weights: TensorName) -> Option<Vec<f64>> {
        let product = self.chain.product(self.name, None)?;
        let w = self.get(weights)?;
        let right = match self.name {
            TensorName::Z(l) if l == layer => Factor::by_columns(w, None, product.columns),
            _ => Factor::by_rows(w, None, product.length),
        };
        Some(Product { right, ..product }.values())
    }

    fn one_sample(&self, of: impl Fn(usize) -> Vec<f64>) -> Option<Pattern> {
        let last = self.chain.batch().checked_sub(1)?;
        let text = match () {
            () if last == 0 => return None,
            () if self.is_made_by_mistake(&of(0)) => {
                "only sample 0 of the batch counts: row-0 indexing".into()
            }
            () if self.is_made_by_mistake(&of(last)) => format!(
                "only the last sample of the batch, {last}, counts: overwritten where it should be \
                 added"
            ),
            () => return None,
        };
        Some(pattern(PatternKind::OneSampleOnly, text))
    }

    fn wrong_update(&self) -> Option<Pattern> {
        let (parameter, gradient) = self.updated_from()?;
        let (w, dw) = (self.get(parameter)?, self.get(gradient)?);
        let rate = self.chain.learning_rate();
        let wrong: Vec<f64> = w.iter().zip(dw).map(|(w, dw)| w + rate * dw).collect();
        self.is_made_by_mistake(&wrong).then(|| {
            let text = format!("it is {parameter} + lr * {gradient}: the step has the wrong sign");
            pattern(PatternKind::UpdateSign, text)
        })
    }

    /// `w − k·lr·dw` with one `k` for all elements.
    pub(crate) fn step_factor(&self) -> Option<Pattern> {
        let (parameter, gradient) = self.updated_from()?;
        let (w, dw) = (self.get(parameter)?, self.get(gradient)?);
        let rate = self.chain.learning_rate();
        let is_step = |k: f64, at_least: usize| {
            let stepped: Vec<f64> = w.iter().zip(dw).map(|(w, dw)| w - k * rate * dw).collect();
            let slack = 2.0 * k.abs().max(1.0);
            let moved = dw.iter().map(|dw| (k - 1.0) * rate * dw);
            self.standing_out(moved, slack) >= at_least && self.is(&stepped, slack)
        };
        if is_step(1.0 / rate, 1) {
            let text = format!("it is {parameter} - {gradient}: the learning rate is missing");
            return Some(pattern(PatternKind::StepFactor, text));
        }
        if let Some((_, text)) = self.known_factors().into_iter().find(|&(k, _)| is_step(k, 1)) {
            let text = text.replacen("it is", "the step is", 1);
            return Some(pattern(PatternKind::StepFactor, text));
        }
        let moved: f64 =
            w.iter().zip(dw).zip(self.candidate).map(|((w, dw), c)| (w - c) * dw).sum();
        let factor = moved / (rate * dw.iter().map(|dw| dw * dw).sum::<f64>());
        (factor.is_finite() && is_step(factor, 3)).then(|| {
            let text = format!("the step is {factor:.6} times what it should be");
            pattern(PatternKind::StepFactor, text)
        })
    }
}

fn column_major_weights(weights: TensorName) -> Pattern {
    let text = format!("it is the product with {weights} read in column-major order");
    pattern(PatternKind::WeightsReadColumnMajor, text)
}
