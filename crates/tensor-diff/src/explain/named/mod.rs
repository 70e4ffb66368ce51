//! Mistakes that have a name and leave a signature in every element: a wrong layout, factor, mask or index, or an
//! operation that leaves something out.
//!
//! `tensor-diff` claims such a mistake only if every element fits it within the bounds.

mod layout;
mod operation;

use tensor::{Dtype, TensorName};

use super::Pattern;
use crate::chain::count;
use crate::chain::operation::updated_from;
use crate::finding::{PatternKind, Wrong};
use crate::judge::within;

/// The first of these mistakes that explains all elements.
pub(super) fn of_all_elements(wrong: &Wrong<'_>) -> Option<Pattern> {
    let mistakes = [
        Wrong::rounded_to_single,
        Wrong::not_updated,
        Wrong::all_zeros,
        Wrong::wrong_operation,
        Wrong::factor,
        Wrong::stored_column_major,
        Wrong::row_or_column_zero,
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
    pub(super) fn is_made(&self, mistaken: &[f64], slack: f64, at_least: usize) -> bool {
        let unit = match self.finding.context.candidate.header.dtype {
            Dtype::F64 => f64::EPSILON,
            Dtype::F32 | Dtype::Tf32 | Dtype::Bf16 => f64::from(f32::EPSILON),
        };
        let elements = || mistaken.iter().zip(self.candidate).zip(self.bounds);
        let moved = mistaken.iter().zip(self.expected).zip(self.bounds);
        let moved = moved.filter(|((m, e), bound)| (**m - **e).abs() > 4.0 * slack * **bound);
        mistaken.len() == self.candidate.len()
            && elements().all(|((&m, &c), &bound)| within(m, c, slack * bound + unit * m.abs()))
            && moved.count() >= at_least
    }

    /// Whether the candidate is this prediction, which was made of the candidate's inputs in place of the reference's
    /// and so may be a few bounds off.
    pub(super) fn is_made_by_mistake(&self, mistaken: &[f64]) -> bool {
        self.is_made(mistaken, 4.0, 1)
    }

    /// Whether the candidate is another tensor of the reference, within that one's bounds.
    pub(super) fn equals(&self, other: TensorName) -> bool {
        let (Some(values), Some(bounds)) =
            (self.chain.get(other), self.finding.context.bounds.get(&other))
        else {
            return false;
        };
        let mut elements = values.iter().zip(self.candidate).zip(bounds);
        values.len() == self.candidate.len()
            && values.iter().zip(bounds).any(|(r, bound)| r.abs() > *bound)
            && elements.all(|((&r, &c), &bound)| within(r, c, bound))
    }

    /// The names and values of the parameter and its gradient, if the tensor is an updated parameter.
    pub(super) fn update(&self) -> Option<(TensorName, TensorName, &[f64], &[f64])> {
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

    fn not_updated(&self) -> Option<Pattern> {
        let (parameter, _, before, _) = self.update()?;
        named(self.candidate == before, PatternKind::NotUpdated, || {
            format!("it equals {parameter}: the update was not applied")
        })
    }

    fn all_zeros(&self) -> Option<Pattern> {
        named(self.candidate.iter().all(|&c| c == 0.0), PatternKind::AllZeros, || {
            "every element is 0: it was never written".into()
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
    pub(super) fn known_factors(&self) -> Vec<(f64, String)> {
        let (b, c) = (self.chain.batch(), self.chain.outputs());
        let right = "what it should be";
        let outputs = format!("and there are {c} outputs");
        let of_sizes = [
            (b, count(b), format!("it is {b} times {right}, B = {b}: a 1/B is missing")),
            (b, 1.0 / count(b), format!("it is 1/{b} of {right}, B = {b}: a 1/B too many")),
            (
                c,
                count(c),
                format!(
                    "it is {c} times {right}, {outputs}: a sum over them in place of their mean"
                ),
            ),
            (
                c,
                1.0 / count(c),
                format!(
                    "it is 1/{c} of {right}, {outputs}: a mean over them in place of their sum"
                ),
            ),
        ];
        let of_sizes = of_sizes.into_iter().filter(|(size, ..)| *size > 1);
        let twice = format!("it is twice {right}: a ½ is missing, or it was added twice");
        let plain = [(2.0, twice), (0.5, format!("it is half of {right}"))];
        of_sizes.map(|(_, factor, text)| (factor, text)).chain(plain).collect()
    }
}
