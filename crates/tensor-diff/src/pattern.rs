//! Mistakes that leave a signature: what a tensor looks like when its layout, a factor, a mask or
//! an index is wrong.
//!
//! A pattern is claimed only when every element of the candidate fits it within the bounds, which
//! the tensor itself does not.

use serde::Serialize;
use tensor::{Dtype, Dump, TensorName};

use crate::chain::{Chain, count};
use crate::compare::{Context, index, within};
use crate::{hypothesis, shape_of_error};

/// The kind of a recognised mistake.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[expect(missing_docs, reason = "each is explained by the sentence that comes with it")]
pub enum PatternKind {
    NonFinite,
    AxesExchanged,
    OtherShape,
    RoundedToSingle,
    AllZeros,
    ReluNotApplied,
    MaskMissing,
    OutputFunctionMissing,
    NotUpdated,
    UpdateSign,
    BiasMissing,
    OneSampleOnly,
    UpdatedWeights,
    WeightsReadColumnMajor,
    SignFlipped,
    Factor,
    StoredColumnMajor,
    RowZero,
    ColumnZero,
    EqualsOther,
    StepFactor,
    RowsPermuted,
    LastRows,
    LastColumns,
    OneElement,
    Explained,
    Unexplained,
}

/// A recognised mistake.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Pattern {
    /// Its kind.
    pub kind: PatternKind,
    /// What was seen and what is likely to have caused it, as a sentence.
    pub text: String,
    /// How many of the wrong elements it predicts to within rounding; 0 for what predicts none and
    /// only says where they are.
    pub explains: usize,
}

pub(crate) fn pattern(kind: PatternKind, text: impl Into<String>) -> Pattern {
    Pattern { kind, text: text.into(), explains: 0 }
}

/// A tensor that differs, in the shape it should have.
pub(crate) struct Suspect<'a> {
    pub(crate) name: TensorName,
    pub(crate) shape: &'a [usize],
    pub(crate) reference: &'a [f64],
    pub(crate) candidate: &'a [f64],
    pub(crate) bounds: &'a [f64],
    pub(crate) context: &'a Context<'a>,
    pub(crate) chain: &'a Chain<'a>,
    /// The step before it, where the dump is of a run.
    pub(crate) before: Option<&'a Dump>,
    /// And those after it.
    pub(crate) later: &'a [Dump],
}

/// The likely cause of a difference, the most specific first.
pub(crate) fn recognise(suspect: &Suspect<'_>) -> Option<Pattern> {
    let wrong = || {
        let elements = suspect.reference.iter().zip(suspect.candidate).zip(suspect.bounds);
        elements.filter(|((r, c), bound)| !within(**r, **c, **bound)).count()
    };
    // What is true of every element predicts all that are wrong.
    let of_all = of_all_elements(suspect);
    of_all
        .map(|pattern| Pattern { explains: wrong(), ..pattern })
        .or_else(|| hypothesis::explain(suspect))
        .or_else(|| shape_of_error::last_rows_or_columns(suspect))
        .or_else(|| shape_of_error::one_element(suspect))
        .or_else(|| hypothesis::unexplained(suspect))
}

fn of_all_elements(suspect: &Suspect<'_>) -> Option<Pattern> {
    suspect
        .rounded_to_single()
        .or_else(|| suspect.not_updated())
        .or_else(|| suspect.all_zeros())
        .or_else(|| suspect.wrong_operation())
        .or_else(|| suspect.sign_flipped())
        .or_else(|| suspect.factor())
        .or_else(|| suspect.stored_column_major())
        .or_else(|| suspect.row_or_column_zero())
        .or_else(|| suspect.equals_other())
        .or_else(|| suspect.step_factor())
        .or_else(|| shape_of_error::rows_permuted(suspect))
}

impl Suspect<'_> {
    /// Whether the candidate is this, each element within `slack` times its bound and a rounding:
    /// where an operation rounds nothing its bound may be 0, and the mistake be rounded all the
    /// same.
    pub(crate) fn is(&self, expected: &[f64], slack: f64) -> bool {
        let unit = match self.context.candidate.header.dtype {
            Dtype::F64 => f64::EPSILON,
            Dtype::F32 | Dtype::Tf32 | Dtype::Bf16 => f64::from(f32::EPSILON),
        };
        let mut elements = expected.iter().zip(self.candidate).zip(self.bounds);
        expected.len() == self.candidate.len()
            && elements.all(|((&e, &c), &bound)| within(e, c, slack * bound + unit * e.abs()))
    }

    /// Whether the candidate is another tensor of the reference, within that one's bounds.
    pub(crate) fn equals(&self, other: TensorName) -> bool {
        let (Some(values), Some(bounds)) = (self.get(other), self.context.bounds.get(&other))
        else {
            return false;
        };
        let mut elements = values.iter().zip(self.candidate).zip(bounds);
        values.len() == self.candidate.len()
            && values.iter().zip(bounds).any(|(r, bound)| r.abs() > *bound)
            && elements.all(|((&r, &c), &bound)| within(r, c, bound))
    }

    pub(crate) fn get(&self, name: TensorName) -> Option<&[f64]> {
        self.chain.get(name)
    }

    /// How many of these numbers stand out from the bounds, `slack` times as wide: fitting a
    /// pattern says something only where it moves an element by this much.
    pub(crate) fn standing_out(&self, moved: impl Iterator<Item = f64>, slack: f64) -> usize {
        moved.zip(self.bounds).filter(|(moved, bound)| moved.abs() > 4.0 * slack * **bound).count()
    }

    fn rounded_to_single(&self) -> Option<Pattern> {
        let rounded: Vec<f64> = self.reference.iter().map(|&r| f64::from(r as f32)).collect();
        (self.bounds.iter().all(|&bound| bound == 0.0) && self.candidate == rounded).then(|| {
            pattern(
                PatternKind::RoundedToSingle,
                "it is the reference's rounded to float32: the reference started from values that \
                 no float32 holds",
            )
        })
    }

    fn all_zeros(&self) -> Option<Pattern> {
        self.candidate
            .iter()
            .all(|&c| c == 0.0)
            .then(|| pattern(PatternKind::AllZeros, "every element is 0: nobody wrote it"))
    }

    fn sign_flipped(&self) -> Option<Pattern> {
        let flipped: Vec<f64> = self.reference.iter().map(|r| -r).collect();
        (self.standing_out(self.reference.iter().copied(), 1.0) > 0 && self.is(&flipped, 1.0)).then(
            || pattern(PatternKind::SignFlipped, "it is what it should be with the sign flipped"),
        )
    }

    /// One factor for all elements.
    fn factor(&self) -> Option<Pattern> {
        let is_scaled = |factor: f64| {
            let scaled: Vec<f64> = self.reference.iter().map(|r| factor * r).collect();
            let slack = 2.0 * factor.abs().max(1.0);
            let moved = self.reference.iter().map(|r| (factor - 1.0) * r);
            self.standing_out(moved, slack) > 0 && self.is(&scaled, slack)
        };
        let known = self.known_factors();
        let (_, text) = known.into_iter().find(|&(factor, _)| is_scaled(factor))?;
        Some(pattern(PatternKind::Factor, text))
    }

    /// The factors that mistakes make.
    pub(crate) fn known_factors(&self) -> Vec<(f64, String)> {
        let (batch, outputs) = (self.chain.batch(), self.chain.outputs());
        let mut known = Vec::new();
        if batch > 1 {
            let b = count(batch);
            let times =
                format!("it is {batch} times what it should be, B = {batch}: a 1/B is missing");
            let over = format!("it is 1/{batch} of what it should be, B = {batch}: a 1/B too many");
            known.extend([(b, times), (1.0 / b, over)]);
        }
        if outputs > 1 {
            let c = count(outputs);
            let times = format!(
                "it is {outputs} times what it should be, and there are {outputs} outputs: a sum over \
                 them in place of their mean"
            );
            let over = format!(
                "it is 1/{outputs} of what it should be, and there are {outputs} outputs: a mean over \
                 them in place of their sum"
            );
            known.extend([(c, times), (1.0 / c, over)]);
        }
        let twice = "it is twice what it should be: a ½ is missing, or it was added twice";
        known.extend([(2.0, twice.into()), (0.5, "it is half of what it should be".into())]);
        known
    }

    fn stored_column_major(&self) -> Option<Pattern> {
        let &[rows, columns] = self.shape else { return None };
        // Element i of the buffer belongs to column i / rows and row i % rows.
        let from = |i: usize| i % rows * columns + i / rows;
        let is_transposed = |(i, &c)| within(self.reference[from(i)], c, self.bounds[from(i)]);
        let mut elements = self.candidate.iter().enumerate();
        let fits = rows > 1 && columns > 1 && elements.all(is_transposed);
        fits.then(|| {
            let text = if rows == columns {
                "it is the transpose of what it should be"
            } else {
                "its buffer holds the transpose of what it should be: it is stored column-major"
            };
            pattern(PatternKind::StoredColumnMajor, text)
        })
    }

    fn row_or_column_zero(&self) -> Option<Pattern> {
        let &[rows, columns] = self.shape else { return None };
        let all_from = |from: &dyn Fn(usize) -> usize| {
            let mut elements = self.candidate.iter().enumerate();
            elements.all(|(i, &c)| within(self.reference[from(i)], c, self.bounds[from(i)]))
        };
        if rows > 1 && all_from(&|i| i % columns) {
            return Some(pattern(
                PatternKind::RowZero,
                "every row equals what row 0 should be: the row's index is not used",
            ));
        }
        (columns > 1 && all_from(&|i| i - i % columns)).then(|| {
            pattern(
                PatternKind::ColumnZero,
                "every column equals what column 0 should be: the column's index is not used",
            )
        })
    }

    fn equals_other(&self) -> Option<Pattern> {
        // A dump that is judged by itself makes later tensors of the wrong one: that they equal it explains nothing.
        let alone = std::ptr::eq(self.context.reference, self.context.candidate);
        let made_of_it = if alone { self.chain.made_of(self.name) } else { vec![self.name] };
        let mut others = self.context.reference.tensors.iter();
        let other = others.find(|other| {
            !made_of_it.contains(&other.name)
                && other.shape == self.shape
                && self.equals(other.name)
        })?;
        let text = format!("it equals {}: exchanged names or buffers", other.name);
        Some(pattern(PatternKind::EqualsOther, text))
    }
}

/// Says which element isn't finite.
pub(crate) fn non_finite(file: &str, data: &[f64], shape: &[usize]) -> Option<Pattern> {
    // NaN before infinity: the one comes of the other.
    let first = data.iter().position(|value| value.is_nan());
    let first = first.or_else(|| data.iter().position(|value| value.is_infinite()))?;
    let count = data.iter().filter(|value| !value.is_finite()).count();
    let value = match data[first] {
        value if value.is_nan() => "NaN",
        value if value > 0.0 => "infinity",
        _ => "-infinity",
    };
    let at = index(first, shape);
    let text = match (count, data.len()) {
        (_, 1) => format!("the {file} holds {value}"),
        (1, _) => format!("the {file} holds {value} at {at:?}, there alone"),
        (count, all) => format!(
            "the {file} holds {value} at {at:?}, and {count} of {all} elements are not finite"
        ),
    };
    Some(pattern(PatternKind::NonFinite, text))
}
