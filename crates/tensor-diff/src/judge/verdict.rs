//! The verdict on one tensor, with its largest errors.

use std::ops::Deref;

use serde::{Serialize, Serializer};
use tensor::{DumpedTensor, TensorName};

/// The verdict on one tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Every element is within its bound.
    Ok,
    /// An element is outside its bound.
    Differs,
    /// An element is NaN, in either dump.
    Nan,
    /// An element is infinite, in either dump, and none is NaN.
    Infinite,
    /// The two shapes differ, or don't fit the network's sizes.
    Shape,
    /// One of the dumps lacks the tensor.
    Missing,
    /// The tensor's values are right, but it is at the wrong place in one of the files.
    Order,
    /// One of the dumps lacks the tensor and declares that its level never holds it in memory: neither a mismatch
    /// nor an agreement.
    NotMaterialised,
    /// The reference lacks tensors that the bound depends on.
    NoBound,
    /// The network has no tensor of this name.
    Unexpected,
    /// The tensor is given to the step, and nothing in its own dump shows whether it is right.
    Given,
    /// Some elements depend on a NaN or an infinity in the inputs, so they can't be judged; the others are right. A
    /// mismatch is the tensor that the NaN comes from.
    Inherited,
}

impl Verdict {
    /// Whether this verdict makes the two dumps differ.
    #[must_use]
    pub const fn is_mismatch(self) -> bool {
        !matches!(self, Self::Ok | Self::NotMaterialised | Self::Given | Self::Inherited)
    }

    /// The word in the table.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Differs => "DIFFERS",
            Self::Nan => "NaN",
            Self::Infinite => "infinity",
            Self::Shape => "shape",
            Self::Missing => "missing",
            Self::Order => "order",
            Self::NotMaterialised => "not materialised",
            Self::NoBound => "no bound",
            Self::Unexpected => "unexpected",
            Self::Given => "given",
            Self::Inherited => "not finite, inherited",
        }
    }
}

/// The largest errors of a tensor, and their bounds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Deviation {
    /// The largest `|candidate − reference|`; NaN if an element of either is NaN.
    #[serde(serialize_with = "number")]
    pub max_abs_error: f64,
    /// The largest `|candidate − reference| / max(|candidate|, |reference|)`: at most 2, and at
    /// least 1 if only one of the two is zero or the signs differ.
    #[serde(serialize_with = "number")]
    pub max_relative_error: f64,
    /// The element with the largest `error / allowed`, or the first that is not finite. It needn't
    /// be the one with the largest error: another may be allowed more.
    pub worst_index: Vec<usize>,
    /// `|candidate − reference|` at `worst_index`.
    #[serde(serialize_with = "number")]
    pub worst_error: f64,
    /// The bound at `worst_index`.
    #[serde(serialize_with = "number")]
    pub allowed: f64,
    /// `error / allowed` at `worst_index`: above 1 is a mismatch.
    #[serde(serialize_with = "number")]
    pub ratio: f64,
    /// The flat index of the element at `worst_index`.
    #[serde(skip)]
    pub(crate) worst: usize,
    /// The number of elements outside their bounds.
    pub outside: usize,
    /// The number of elements.
    pub elements: usize,
}

/// A line of the table: one tensor.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// The name of the tensor.
    pub name: TensorName,
    /// The shape in the reference, or in the candidate if the reference lacks the tensor.
    pub shape: Option<Vec<usize>>,
    /// The errors of the tensor, if both dumps have it in the same shape.
    #[serde(flatten)]
    pub deviation: Option<Deviation>,
    /// The verdict.
    pub verdict: Verdict,
}

/// The rows of the table: one for each tensor of the network, in the order of computation, then one for each other
/// tensor.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Rows(pub(super) Vec<Row>);

impl Deref for Rows {
    type Target = [Row];

    fn deref(&self) -> &[Row] {
        &self.0
    }
}

impl Rows {
    /// The row of that tensor.
    #[must_use]
    pub fn get(&self, name: TensorName) -> Option<&Row> {
        self.iter().find(|row| row.name == name)
    }

    /// The number of rows with this verdict.
    #[must_use]
    pub fn count(&self, verdict: Verdict) -> usize {
        self.iter().filter(|row| row.verdict == verdict).count()
    }

    /// The number of rows that are mismatches.
    #[must_use]
    pub fn mismatches(&self) -> usize {
        self.iter().filter(|row| row.verdict.is_mismatch()).count()
    }
}

/// Whether an element is within its bound; never if any of the three is NaN.
pub(crate) fn within(reference: f64, candidate: f64, bound: f64) -> bool {
    (candidate - reference).abs() <= bound
}

pub(crate) fn deviation(
    reference: &DumpedTensor,
    candidate: &DumpedTensor,
    bounds: &[f64],
) -> Deviation {
    let mut found = Deviation {
        max_abs_error: 0.0,
        max_relative_error: 0.0,
        worst_index: Vec::new(),
        worst: 0,
        worst_error: 0.0,
        allowed: bounds.first().copied().unwrap_or(0.0),
        ratio: 0.0,
        outside: 0,
        elements: reference.data.len(),
    };
    let worse = |worst, value| if exceeds(value, worst) { value } else { worst };
    let elements = reference.data.iter().zip(&candidate.data).zip(bounds).enumerate();
    for (i, ((&r, &c), &bound)) in elements {
        let error = (c - r).abs();
        let relative = if error == 0.0 { 0.0 } else { error / c.abs().max(r.abs()) };
        let ratio = match () {
            () if !r.is_finite() || !c.is_finite() => f64::NAN,
            () if error == 0.0 && bound >= 0.0 => 0.0,
            () => error / bound,
        };
        found.outside += usize::from(!within(r, c, bound));
        found.max_abs_error = worse(found.max_abs_error, error);
        found.max_relative_error = worse(found.max_relative_error, relative);
        if exceeds(ratio, found.ratio) {
            (found.worst, found.ratio) = (i, ratio);
            (found.worst_error, found.allowed) = (error, bound);
        }
    }
    found.worst_index = index(found.worst, &reference.shape);
    found
}

/// Whether a number is worse than the worst so far; NaN is the worst of all, and the first NaN stays.
fn exceeds(value: f64, worst: f64) -> bool {
    !worst.is_nan() && (value.is_nan() || value > worst)
}

/// The index along each axis of the flat element `i` of a row-major tensor.
pub(crate) fn index(mut i: usize, shape: &[usize]) -> Vec<usize> {
    let mut index = vec![0; shape.len()];
    for (position, &axis) in index.iter_mut().zip(shape).rev() {
        *position = i % axis.max(1);
        i /= axis.max(1);
    }
    index
}

/// Serialises a number; NaN and the infinities are the same words as in a dump.
pub(crate) fn number<S: Serializer>(value: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    if value.is_nan() {
        serializer.serialize_str("NaN")
    } else if value.is_infinite() {
        serializer.serialize_str(if *value > 0.0 { "Infinity" } else { "-Infinity" })
    } else {
        serializer.serialize_f64(*value)
    }
}
