//! The tensors of a step with their right values and bounds.

use std::collections::HashMap;

use tensor::{Dump, DumpedTensor, TensorName};

use crate::chain::Errors;
use crate::judge::{Candidate, Run, allowed_at, recomputed};

/// The tensors of a step.
pub(crate) struct Evidence<'a> {
    expected: HashMap<TensorName, DumpedTensor>,
    candidate: &'a Dump,
    allowed: Errors,
}

/// One tensor of it.
pub(crate) struct Exhibit<'e> {
    pub(crate) shape: &'e [usize],
    /// The reference's elements, or those recomputed from the candidate's own inputs.
    pub(crate) expected: Option<&'e [f64]>,
    pub(crate) candidate: Option<&'e [f64]>,
    pub(crate) allowed: Option<&'e [f64]>,
}

impl<'a> Evidence<'a> {
    /// The step at `at`; `None` if the candidate has no such step.
    pub(crate) fn new(
        reference: Option<Run<'_>>,
        candidate: &Candidate<'a>,
        at: usize,
        scale_tolerance: f64,
    ) -> Option<Self> {
        let dump = candidate.run.get(at)?;
        let (expected, allowed) = match reference {
            Some((_, run)) => {
                (run.get(at)?.tensors.clone(), allowed_at(run, candidate.run, at, scale_tolerance))
            }
            None => {
                let before = at.checked_sub(1).and_then(|before| candidate.run.get(before));
                recomputed(dump, before, scale_tolerance)
            }
        };
        let expected = expected.into_iter().map(|tensor| (tensor.name, tensor)).collect();
        Some(Self { expected, candidate: dump, allowed })
    }

    /// One tensor; without its right values if these have another shape.
    pub(crate) fn exhibit(&self, name: TensorName) -> Option<Exhibit<'_>> {
        let (expected, candidate) = (self.expected.get(&name), self.candidate.get(name));
        let shape = &candidate.or(expected)?.shape[..];
        let same = |tensor: &&DumpedTensor| tensor.shape == shape;
        let expected = expected.filter(same).map(|tensor| &tensor.data[..]);
        let candidate = candidate.map(|tensor| &tensor.data[..]);
        let length = candidate.or(expected)?.len();
        let allowed = self.allowed.get(&name).map(Vec::as_slice);
        Some(Exhibit { shape, expected, candidate, allowed: allowed.filter(|a| a.len() == length) })
    }
}

impl Exhibit<'_> {
    /// The tensor as rows and columns: a vector is one row.
    pub(crate) fn rows_and_columns(&self) -> (usize, usize) {
        let columns = self.shape.last().copied().unwrap_or(1);
        let elements: usize = self.shape.iter().product();
        (elements / columns.max(1), columns)
    }

    pub(crate) fn elements(&self) -> usize {
        self.shape.iter().product()
    }

    /// `|candidate − expected|` of an element.
    pub(crate) fn error(&self, i: usize) -> Option<f64> {
        Some((self.candidate?[i] - self.expected?[i]).abs())
    }

    /// The error of an element as a multiple of its bound; NaN if it is not finite or has
    /// no bound, and `None` if one side is missing.
    pub(crate) fn ratio(&self, i: usize) -> Option<f64> {
        let error = self.error(i)?;
        let allowed = self.allowed.map_or(f64::NAN, |allowed| allowed[i]);
        Some(match () {
            () if error == 0.0 && allowed >= 0.0 => 0.0,
            () => error / allowed,
        })
    }
}
