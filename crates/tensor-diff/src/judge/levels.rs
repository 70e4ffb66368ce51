//! One reference and several candidates: every level at once.

use std::path::Path;

use tensor::{Dump, TensorName};

use super::compare::{Comparison, Row, Verdict, compare, varies};
use super::run::{RunComparison, Step, compare_runs};

/// A candidate beside others, and what was found of it.
#[derive(Clone, Debug)]
pub struct Candidate<'a> {
    /// The file.
    pub path: &'a Path,
    /// Its steps.
    pub run: &'a [Dump],
    /// How they compare with the reference's, step by step; a dump of one step is a run of one.
    pub found: RunComparison,
}

/// Compares each candidate with the reference, on its own.
///
/// # Errors
/// When a run doesn't begin with the reference's step: the candidate's place in the list, and why.
pub fn compare_levels<'a>(
    reference: &[Dump],
    candidates: impl IntoIterator<Item = (&'a Path, &'a [Dump])>,
    scale_tolerance: f64,
) -> Result<Vec<Candidate<'a>>, (usize, String)> {
    let mut all: Vec<Candidate<'a>> = Vec::new();
    for (at, (path, run)) in candidates.into_iter().enumerate() {
        let mut found = compare_files(reference, run, scale_tolerance).map_err(|why| (at, why))?;
        // An earlier dump of the same level that differs.
        let vary = all.iter().find_map(|other| {
            let vary = other.run.iter().zip(run).find_map(|(a, b)| varies(a, b))?;
            Some(format!("{} and {}: {vary}", host::shown(other.path), host::shown(path)))
        });
        found.warnings.splice(0..0, vary);
        all.push(Candidate { path, run, found });
    }
    Ok(all)
}

/// Compares two files, each a dump or a run.
fn compare_files(
    reference: &[Dump],
    candidate: &[Dump],
    scale_tolerance: f64,
) -> Result<RunComparison, String> {
    match (reference, candidate) {
        ([reference], [candidate]) => Ok(RunComparison::of_one(
            candidate,
            reference,
            compare(reference, candidate, scale_tolerance),
        )),
        _ => compare_runs(reference, candidate, scale_tolerance),
    }
}

/// What there is to say of one tensor of a candidate, over all its steps.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Cell<'a> {
    /// The candidate has no such row.
    Nothing,
    /// Within its bounds in every step: the largest error in units of what is allowed.
    Within(f64),
    /// No mismatch, and nothing that was compared either.
    Aside(Verdict),
    /// The first step in which it is a mismatch, or wrong by itself.
    Wrong(&'a Step, &'a Comparison, &'a Row),
}

impl<'a> Cell<'a> {
    /// The cell of a tensor.
    pub(crate) fn of(found: &'a RunComparison, name: TensorName) -> Self {
        let mut cell = Self::Nothing;
        for step in &found.steps {
            let Some(comparison) = &step.comparison else { continue };
            let Some(row) = comparison.row(name) else { continue };
            if row.verdict.is_mismatch() || comparison.is_own_fault(name) == Some(true) {
                return Self::Wrong(step, comparison, row);
            }
            let ratio = row.deviation.as_ref().map(|deviation| deviation.ratio);
            cell = match (cell, row.verdict, ratio) {
                (Self::Within(so_far), Verdict::Ok, Some(ratio)) => Self::Within(so_far.max(ratio)),
                (_, Verdict::Ok, Some(ratio)) => Self::Within(ratio),
                (Self::Within(so_far), ..) => Self::Within(so_far),
                (_, verdict, _) => Self::Aside(verdict),
            };
        }
        cell
    }
}

/// Every tensor that a candidate has a row of, in the order of computation.
pub(crate) fn names(candidates: &[Candidate<'_>]) -> Vec<TensorName> {
    let mut names = Vec::new();
    for candidate in candidates {
        let comparisons = candidate.found.steps.iter().filter_map(|step| step.comparison.as_ref());
        for row in comparisons.flat_map(|comparison| &comparison.rows) {
            if !names.contains(&row.name) {
                names.push(row.name);
            }
        }
    }
    names
}

/// What to call each candidate: its level where no other has the same, else its file without the
/// ending, else the whole path.
pub(crate) fn titles(candidates: &[Candidate<'_>]) -> Vec<String> {
    let level = |one: &Candidate<'_>| {
        one.run.first().map_or_else(String::new, |dump| host::shown(&dump.header.level).to_string())
    };
    let stem = |one: &Candidate<'_>| {
        let name = one.path.file_name().map(|name| name.to_string_lossy().into_owned());
        let name = name.unwrap_or_default();
        let name = name.strip_suffix(".gz").unwrap_or(&name);
        host::shown(name.strip_suffix(".json").unwrap_or(name)).to_string()
    };
    let single = |of: &dyn Fn(&Candidate<'_>) -> String, one: &Candidate<'_>| {
        let mine = of(one);
        (candidates.iter().filter(|other| of(other) == mine).count() == 1).then_some(mine)
    };
    let whole = |one: &Candidate<'_>| host::shown(one.path).to_string();
    candidates
        .iter()
        .map(|one| single(&level, one).or_else(|| single(&stem, one)).unwrap_or_else(|| whole(one)))
        .collect()
}
