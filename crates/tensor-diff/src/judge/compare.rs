//! Comparison of a candidate's tensors with a reference's, one by one, in the order of computation.

use tensor::{Dump, TensorName};

use super::context::Context;
use super::own::{self, Judgement, moved_back};
use super::verdict::{Row, Rows, Verdict};
use crate::chain::Errors;
use crate::finding::{Divergence, Finding};

/// The result of comparing two dumps.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// The verdict on each tensor.
    pub rows: Rows,
    /// The first tensor that is a mismatch or wrong by itself, and its likely cause.
    pub first_divergence: Option<Divergence>,
    /// The judgement of the candidate by itself, without the reference.
    pub own: Judgement,
    /// Reasons why the two dumps are hard to compare.
    pub warnings: Vec<String>,
}

impl Comparison {
    /// Whether no tensor is a mismatch, nothing in the candidate is wrong by itself, and at least one tensor agrees.
    #[must_use]
    pub fn agrees(&self) -> bool {
        self.first_divergence.is_none() && self.rows.count(Verdict::Ok) > 0
    }

    /// Whether a tensor is wrong by itself, rather than the right result of its inputs; `None` if that is unknown.
    #[must_use]
    pub fn is_own_fault(&self, name: TensorName) -> Option<bool> {
        match self.own.rows.get(name)?.verdict {
            Verdict::Ok | Verdict::Inherited => Some(false),
            verdict => verdict.is_mismatch().then_some(true),
        }
    }
}

/// Compares a candidate with a reference; every bound is multiplied by `scale_tolerance`, which is
/// 1 unless there is a reason.
#[must_use]
pub fn compare(reference: &Dump, candidate: &Dump, scale_tolerance: f64) -> Comparison {
    let own = own::judge(candidate, scale_tolerance);
    compare_from(reference, candidate, own, &Errors::new(), scale_tolerance).0
}

/// Like [`compare`], but the parameters may differ by `start`; also returns the bounds of every tensor.
pub(crate) fn compare_from(
    reference: &Dump,
    candidate: &Dump,
    own: Judgement,
    start: &Errors,
    scale_tolerance: f64,
) -> (Comparison, Errors) {
    let (reference, note) = moved_back(reference, scale_tolerance);
    let of_reference = note.map(|note| format!("the reference: {note}"));
    let candidate = moved_back(candidate, scale_tolerance).0;
    let context = Context::new(Some(&reference), &candidate, start, scale_tolerance);
    let row = |name| context.row(name, reference.get(name));
    let rows = Rows(context.names().into_iter().map(row).collect());
    let first_divergence = first_divergence(&rows, &context, &own);
    let mut warnings = warnings(&reference, &candidate);
    warnings.extend(of_reference.into_iter().chain(own.warnings.clone()));
    (Comparison { rows, first_divergence, own, warnings }, context.bounds)
}

/// The first tensor that is a mismatch or wrong by itself, with its explanation.
fn first_divergence(rows: &Rows, context: &Context<'_>, own: &Judgement) -> Option<Divergence> {
    let fault = own.first_fault.as_ref();
    let is_fault = |row: &Row| fault.is_some_and(|fault| fault.tensor == row.name);
    let row = rows.iter().find(|row| row.verdict.is_mismatch() || is_fault(row))?;
    if !row.verdict.is_mismatch() {
        // Wrong by itself but within the bounds of the comparison, which are wider than those of one operation.
        return fault.cloned();
    }
    let (expected, compared) = (context.reference.get(row.name), Some((rows, own)));
    Some(Finding { row, context, expected, before: None, later: &[], compared }.read())
}

/// Differences between two headers that make the dumps hard to compare.
fn warnings(reference: &Dump, candidate: &Dump) -> Vec<String> {
    let (r, c) = (&reference.header, &candidate.header);
    let mut warnings = Vec::new();
    let mut differ = |what: &str, r: String, c: String| {
        if r != c {
            warnings.push(format!(
                "the reference was made with {what} {r} and the candidate with {what} {c}"
            ));
        }
    };
    differ("preset", r.preset.clone(), c.preset.clone());
    if let (Some(r), Some(c)) = (r.loss, c.loss) {
        differ("loss", r.to_string(), c.to_string());
    }
    differ("learning rate", r.learning_rate.to_string(), c.learning_rate.to_string());
    differ("seed", r.seed.to_string(), c.seed.to_string());
    differ("step", r.step.to_string(), c.step.to_string());
    varies(reference, candidate).into_iter().chain(warnings).collect()
}

/// The words of the warning that two dumps of one level differ.
pub(crate) const VARY: &str = "its results vary from run to run";

/// A warning if two dumps of one level started from the same bits and differ: their errors change from run to run, so
/// no explanation of one dump holds for the other. It is printed before everything else.
pub(super) fn varies(reference: &Dump, candidate: &Dump) -> Option<String> {
    let (r, c) = (&reference.header, &candidate.header);
    let bits = |dump: &Dump, name| {
        Some(dump.get(name)?.data.iter().map(|value| value.to_bits()).collect::<Vec<u64>>())
    };
    let same = |name| bits(reference, name) == bits(candidate, name);
    let names = || reference.tensors.iter().map(|tensor| tensor.name);
    let of_one = (&r.level, &r.device, r.dtype, r.step) == (&c.level, &c.device, c.dtype, c.step);
    let first = names().find(|&name| !same(name)).filter(|&name| !name.is_given())?;
    of_one.then(|| {
        format!(
            "both dumps are by {} on {}, from the same inputs, and differ from {first} on: unless the program was \
             changed in between, {VARY}, as with a sum in no fixed order or a race. EMULATED_GPU_CHECKS=races finds a \
             race between the threads of a launch, but none between streams",
            r.level, r.device
        )
    })
}
