//! Mistakes that have a name and leave a signature in every element: a wrong layout, factor, mask or index, or an
//! operation that leaves something out.
//!
//! `tensor-diff` claims such a mistake only if every element fits it within the bounds.

use tensor::{Dtype, Loss, TensorName};

use super::{Pattern, numbers};
use crate::chain::count;
use crate::chain::operation::{Operation, updated_from};
use crate::chain::product::{Factor, Product};
use crate::finding::{PatternKind, Wrong};
use crate::judge::{is_usual, within};

/// The most elements of a tensor whose rows are compared with each other.
const ROWS_WORTH_MATCHING: usize = 100_000_000;

/// A mistake: its kind, its sentence, and the values that it makes.
type Mistake = (PatternKind, String, Vec<f64>);

/// The first of these mistakes that explains all elements.
pub(super) fn of_all_elements(wrong: &Wrong<'_>) -> Option<Pattern> {
    let mistakes = [
        Wrong::rounded_to_single,
        Wrong::not_written,
        Wrong::wrong_operation,
        Wrong::factor,
        Wrong::moved,
        Wrong::equals_other,
        Wrong::step_factor,
        Wrong::rows_permuted,
    ];
    let found = mistakes.iter().find_map(|mistake| mistake(wrong))?;
    Some(Pattern { explains: wrong.outside().len(), ..found })
}

fn named(is: bool, kind: PatternKind, text: impl FnOnce() -> String) -> Option<Pattern> {
    is.then(|| Pattern::new(kind, text()))
}

impl Wrong<'_> {
    /// Whether a mistake makes the candidate: each element within `slack` times its bound and a rounding, which the
    /// bound of an operation without roundings doesn't allow. The mistake has to move at least `at_least` elements by
    /// more than four times that, because a smaller move is no evidence.
    fn is_made(&self, mistaken: &[f64], slack: f64, at_least: usize) -> bool {
        let unit = match self.finding.context.candidate.header.dtype {
            Dtype::F64 => f64::EPSILON,
            Dtype::F32 | Dtype::Tf32 | Dtype::Bf16 => f64::from(f32::EPSILON),
        };
        let elements = || mistaken.iter().zip(self.candidate).zip(self.bounds);
        let moved = mistaken.iter().zip(self.expected).zip(self.bounds);
        let moved = moved.filter(|((m, e), bound)| (**m - **e).abs() > 4.0 * slack * **bound);
        let usual = self.usual_errors();
        let elements_of = |usual: Vec<f64>| {
            let sides = self.candidate.iter().zip(mistaken).zip(self.expected).zip(usual);
            is_usual(sides.map(|(((&c, &m), &e), usual)| [c, m, e, usual]))
        };
        mistaken.len() == self.candidate.len()
            && usual.is_none_or(elements_of)
            && elements().all(|((&m, &c), &bound)| within(m, c, slack * bound + unit * m.abs()))
            && moved.count() >= at_least
    }

    /// Whether each element is this value, within this bound.
    fn is(&self, at: impl Fn(usize) -> (f64, f64)) -> bool {
        self.candidate.iter().enumerate().all(|(i, &c)| {
            let (value, bound) = at(i);
            within(value, c, bound)
        })
    }

    /// Whether the candidate is another tensor of the reference, within that one's bounds.
    fn equals(&self, other: TensorName) -> bool {
        let bounds = self.finding.context.bounds.get(&other);
        self.chain.get(other).zip(bounds).is_some_and(|(values, bounds)| {
            values.len() == self.candidate.len()
                && values.iter().zip(bounds).any(|(r, bound)| r.abs() > *bound)
                && self.is(|i| (values[i], bounds[i]))
        })
    }

    /// The names and values of the parameter and its gradient, if the tensor is an updated parameter.
    fn update(&self) -> Option<(TensorName, TensorName, &[f64], &[f64])> {
        let (parameter, gradient) = updated_from(self.name)?;
        Some((parameter, gradient, self.chain.get(parameter)?, self.chain.get(gradient)?))
    }

    fn rounded_to_single(&self) -> Option<Pattern> {
        let is = self.bounds.iter().all(|&bound| bound == 0.0)
            && self.candidate.iter().zip(self.expected).all(|(&c, &r)| c == f64::from(r as f32));
        named(is, PatternKind::RoundedToSingle, || {
            "it is the reference's rounded to float32: the reference started from values that no \
             float32 holds"
                .into()
        })
    }

    fn not_written(&self) -> Option<Pattern> {
        let before = self.update().filter(|(.., before, _)| self.candidate == *before);
        let not_updated = before.and_then(|(parameter, ..)| {
            let text = format!("it equals {parameter}: the update was not applied");
            named(true, PatternKind::NotUpdated, || text)
        });
        not_updated.or_else(|| {
            named(self.candidate.iter().all(|&c| c == 0.0), PatternKind::AllZeros, || {
                "every element is 0: it was never written".into()
            })
        })
    }

    /// One factor for all elements.
    fn factor(&self) -> Option<Pattern> {
        let flipped = "it is what it should be with the sign flipped".to_owned();
        let factors =
            self.known_factors().into_iter().map(|(k, text)| (PatternKind::Factor, k, text));
        let mut all = [(PatternKind::SignFlipped, -1.0, flipped)].into_iter().chain(factors);
        let (kind, _, text) = all.find(|&(_, factor, _)| {
            let scaled: Vec<f64> = self.expected.iter().map(|r| factor * r).collect();
            self.is_made(&scaled, 2.0 * factor.abs().max(1.0), 1)
        })?;
        Some(Pattern::new(kind, text))
    }

    /// The factors that mistakes make.
    fn known_factors(&self) -> Vec<(f64, String)> {
        let (b, c) = (self.chain.batch(), self.chain.outputs());
        let right = "what it should be";
        let of_b = format!("{right}, B = {b}: a 1/B");
        let of_c = format!("{right}, and there are {c} outputs: perhaps a");
        let all = [
            (b, count(b), format!("it is {b} times {of_b} is missing")),
            (b, 1.0 / count(b), format!("it is 1/{b} of {of_b} too many")),
            (c, count(c), format!("it is {c} times {of_c} sum over them in place of their mean")),
            (
                c,
                1.0 / count(c),
                format!("it is 1/{c} of {of_c} mean over them in place of their sum"),
            ),
            (2, 2.0, format!("it is twice {right}: a ½ is missing, or it was added twice")),
            (2, 0.5, format!("it is half of {right}")),
        ];
        let rate = self.chain.learning_rate();
        let named = all.into_iter().filter(|(size, ..)| *size > 1).map(|(_, factor, text)| {
            // 10 outputs and a learning rate of 0.1 make the same factor.
            let rates = (factor - rate).abs() < 1e-6 * rate;
            let or = if rates { "; or the learning rate is applied once more" } else { "" };
            (factor, text + or)
        });
        named.collect()
    }

    /// `w − k·lr·dw` with one `k` for all elements.
    fn step_factor(&self) -> Option<Pattern> {
        let (parameter, gradient, w, dw) = self.update()?;
        let rate = self.chain.learning_rate();
        let is_step = |k: f64, at_least: usize| {
            let stepped: Vec<f64> = w.iter().zip(dw).map(|(w, dw)| w - k * rate * dw).collect();
            self.is_made(&stepped, 2.0 * k.abs().max(1.0), at_least)
        };
        let without_rate = format!("it is {parameter} - {gradient}: the learning rate is missing");
        // A mean over the outputs is no part of an update.
        let known = self.known_factors().into_iter().filter(|(_, text)| !text.contains("outputs"));
        let step = |text: String| {
            text.replacen("it is", "the step is", 1).replace(": a 1/B", ": perhaps a 1/B")
        };
        let known = known.map(|(k, text)| (k, step(text)));
        let mut known = [(1.0 / rate, without_rate)].into_iter().chain(known);
        if let Some((_, text)) = known.find(|&(k, _)| is_step(k, 1)) {
            return Some(Pattern::new(PatternKind::StepFactor, text));
        }
        let moved: f64 =
            w.iter().zip(dw).zip(self.candidate).map(|((w, dw), c)| (w - c) * dw).sum();
        let factor = moved / (rate * dw.iter().map(|dw| dw * dw).sum::<f64>());
        named(factor.is_finite() && is_step(factor, 3), PatternKind::StepFactor, || {
            let clipped = numbers::clipped_to(self.chain, gradient, dw, factor);
            // A learning rate of 0.1 is a tenth, too.
            let rates = (factor - rate).abs() < 1e-6 * rate.abs();
            let or = if rates { ": perhaps the learning rate is applied once more" } else { "" };
            format!("the step is {factor:.6} times what it should be{clipped}{or}")
        })
    }

    /// The result of the operation if it leaves something out or takes something else.
    fn wrong_operation(&self) -> Option<Pattern> {
        let (chain, last) = (self.chain, self.chain.layers());
        let equal = |other: TensorName, kind, what: &str| {
            let text = || format!("it equals {other}: {what} was not applied");
            named(self.equals(other), kind, text)
        };
        let mistakes: Vec<Mistake> = match self.name {
            TensorName::Z(layer) => {
                let (w, b) = (TensorName::W(layer), TensorName::B(layer));
                let bias = chain.get(b)?;
                let with = |values: &[f64], sign: f64| -> Vec<f64> {
                    values.iter().zip(bias.iter().cycle()).map(|(z, b)| z + sign * b).collect()
                };
                let text = format!("it is the product alone: {b} was not added");
                let (kind, misread, product) = self.column_major_weights(w)?;
                vec![
                    (PatternKind::BiasMissing, text, with(self.expected, -1.0)),
                    (kind, misread, with(&product, 1.0)),
                ]
            }
            TensorName::A(layer) => {
                return equal(TensorName::Z(layer), PatternKind::ReluNotApplied, "relu");
            }
            TensorName::P => {
                let function = match chain.losses()[..] {
                    [Loss::CrossEntropy] => "softmax",
                    [Loss::Bce] => "sigmoid",
                    _ => "softmax or sigmoid",
                };
                return equal(TensorName::Z(last), PatternKind::OutputFunctionMissing, function);
            }
            TensorName::Dz(layer) if layer < last => {
                let mask = format!("the mask [{} > 0]", TensorName::Z(layer));
                return equal(TensorName::Da(layer), PatternKind::MaskMissing, &mask);
            }
            TensorName::Dw(_) => {
                let product = self.product()?;
                self.one_sample(|sample| product.term(sample))
            }
            TensorName::Db(layer) => {
                let dz = chain.get(TensorName::Dz(layer))?;
                let outputs = self.candidate.len();
                self.one_sample(|sample| dz[sample * outputs..][..outputs].to_vec())
            }
            TensorName::Da(layer) => {
                let (w, next) = (TensorName::W(layer + 1), TensorName::WNext(layer + 1));
                let operation = chain.operation(self.name)?;
                let inputs = vec![operation.inputs[0], next];
                let updated = chain.made_by(&Operation { inputs, ..operation });
                let text = format!(
                    "it is the product with {next}: the update ran before the gradient was passed on"
                );
                vec![
                    (PatternKind::UpdatedWeights, text, updated.unwrap_or_default()),
                    self.column_major_weights(w)?,
                ]
            }
            TensorName::WNext(_) | TensorName::BNext(_) => {
                let (parameter, gradient, w, dw) = self.update()?;
                let rate = chain.learning_rate();
                let text =
                    format!("it is {parameter} + lr * {gradient}: the step has the wrong sign");
                let wrong = w.iter().zip(dw).map(|(w, dw)| w + rate * dw).collect();
                vec![(PatternKind::UpdateSign, text, wrong)]
            }
            _ => return None,
        };
        // The values are made of the candidate's inputs in place of the reference's, and so may be a few bounds off.
        let mut found = mistakes.into_iter().filter(|(.., values)| self.is_made(values, 4.0, 1));
        found.next().map(|(kind, text, _)| Pattern::new(kind, text))
    }

    fn product(&self) -> Option<Product<'_>> {
        self.chain.product(&self.chain.operation(self.name)?, None)
    }

    /// The product of `z` or `da` when the weights' buffer is read in the other order.
    fn column_major_weights(&self, weights: TensorName) -> Option<Mistake> {
        let product = self.product()?;
        let w = self.chain.get(weights)?;
        let right = match self.name {
            TensorName::Z(_) => Factor::by_columns(w, None, product.columns),
            _ => Factor::by_rows(w, None, product.length),
        };
        let text = format!("it is the product with {weights} read in column-major order");
        let values = Product { right, ..product }.values();
        Some((PatternKind::WeightsReadColumnMajor, text, values))
    }

    /// The gradient of the first sample, or of the last.
    fn one_sample(&self, of: impl Fn(usize) -> Vec<f64>) -> Vec<Mistake> {
        let Some(last) = self.chain.batch().checked_sub(1).filter(|&last| last > 0) else {
            return Vec::new();
        };
        let first = "only sample 0 of the batch counts: row-0 indexing".to_owned();
        let overwritten = format!(
            "only the last sample of the batch, {last}, counts: overwritten where it should be added"
        );
        let mistakes = [(0, first), (last, overwritten)];
        mistakes.map(|(at, text)| (PatternKind::OneSampleOnly, text, of(at))).into()
    }

    /// The right values of other elements: the tensor is transposed, or made of one row or column.
    fn moved(&self) -> Option<Pattern> {
        let &[rows, columns] = self.shape else { return None };
        let from = |from: &dyn Fn(usize) -> usize| {
            self.is(|i| (self.expected[from(i)], self.bounds[from(i)]))
        };
        let text = |what| {
            format!("every {what} equals what {what} 0 should be: the {what}'s index is not used")
        };
        // Element i of the buffer belongs to column i / rows and row i % rows.
        let transposed = rows > 1 && columns > 1 && from(&|i| i % rows * columns + i / rows);
        named(transposed, PatternKind::StoredColumnMajor, || {
            if rows == columns {
                "it is the transpose of what it should be".into()
            } else {
                "its buffer holds the transpose of what it should be: it is stored column-major"
                    .into()
            }
        })
        .or_else(|| named(rows > 1 && from(&|i| i % columns), PatternKind::RowZero, || text("row")))
        .or_else(|| {
            let is = columns > 1 && from(&|i| i - i % columns);
            named(is, PatternKind::ColumnZero, || text("column"))
        })
    }

    fn equals_other(&self) -> Option<Pattern> {
        // A dump that is judged by itself makes later tensors of the wrong one: that they equal it explains nothing.
        let alone = self.finding.compared.is_none();
        let made_of_it = if alone { self.chain.made_of(self.name) } else { vec![self.name] };
        let mut others = self.finding.context.reference.tensors.iter();
        let other = others.find(|other| {
            !made_of_it.contains(&other.name)
                && other.shape == self.shape
                && self.equals(other.name)
        })?;
        let text = format!("it equals {}: exchanged names or buffers", other.name);
        Some(Pattern::new(PatternKind::EqualsOther, text))
    }

    /// The rows are right, but in another order: the samples of a batch are shuffled.
    fn rows_permuted(&self) -> Option<Pattern> {
        let &[rows, columns] = self.shape else { return None };
        if rows < 2
            || columns < 2
            || rows.saturating_mul(self.candidate.len()) > ROWS_WORTH_MATCHING
        {
            return None;
        }
        let matches = |from: usize, to: usize| {
            (from * columns..(from + 1) * columns)
                .zip(&self.candidate[to * columns..])
                .all(|(r, &c)| within(self.expected[r], c, self.bounds[r]))
        };
        let mut free: Vec<usize> = (0..rows).collect();
        let mut moved = None;
        for to in 0..rows {
            // Each row is first compared with the right row of the same index, so that only rows that did move count
            // as moved.
            let from = if free.contains(&to) && matches(to, to) {
                to
            } else {
                free.iter().copied().find(|&from| matches(from, to))?
            };
            free.retain(|&row| row != from);
            if from != to {
                moved = moved.or(Some((to, from)));
            }
        }
        let (to, from) = moved?;
        let text = format!(
            "it holds the right rows in another order: row {to} is what row {from} should be"
        );
        Some(Pattern::new(PatternKind::RowsPermuted, text))
    }
}
