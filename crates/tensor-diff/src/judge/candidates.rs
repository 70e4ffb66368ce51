//! One or several candidates, each judged by itself or compared with a reference.

use std::path::Path;

use tensor::{Dump, TensorName};

use super::compare::varies;
use super::run::{RunComparison, Step, compare_runs, judge_run};
use super::verdict::{Row, Verdict};

/// A file, and the steps in it.
pub type Run<'a> = (&'a Path, &'a [Dump]);

/// A candidate and its verdict.
#[derive(Clone, Debug)]
pub struct Candidate<'a> {
    /// The file.
    pub path: &'a Path,
    /// Its steps.
    pub run: &'a [Dump],
    /// The verdict on each step; a dump of one step is a run of one.
    pub found: RunComparison,
}

/// Compares each candidate with the reference, or without one judges each by itself. Every bound is
/// multiplied by `scale_tolerance`.
///
/// # Errors
/// If a run begins with a step other than the reference's: the candidate's index, and the reason.
pub fn judge_files<'a>(
    reference: Option<&[Dump]>,
    candidates: impl IntoIterator<Item = Run<'a>>,
    scale_tolerance: f64,
) -> Result<Vec<Candidate<'a>>, (usize, String)> {
    let mut all: Vec<Candidate<'a>> = Vec::new();
    for (at, (path, run)) in candidates.into_iter().enumerate() {
        let mut found = match reference {
            None => judge_run(run, scale_tolerance),
            Some(reference) => {
                compare_runs(reference, run, scale_tolerance).map_err(|why| (at, why))?
            }
        };
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

/// The verdict on one tensor of a candidate, over all its steps.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Cell<'a> {
    /// The candidate has no such row.
    Nothing,
    /// Within its bounds in every step: the largest error as a multiple of its bound.
    Within(f64),
    /// Not a mismatch, but not compared either.
    Aside(Verdict),
    /// The first step in which it is a mismatch, or wrong by itself.
    Wrong(&'a Step, &'a Row),
}

impl Candidate<'_> {
    /// The cell of a tensor.
    pub(crate) fn cell(&self, name: TensorName) -> Cell<'_> {
        let mut cell = Cell::Nothing;
        for step in &self.found.steps {
            let Some(comparison) = &step.comparison else { continue };
            let Some(row) = comparison.rows.get(name) else { continue };
            if row.verdict.is_mismatch() || comparison.is_own_fault(name) == Some(true) {
                return Cell::Wrong(step, row);
            }
            cell = match (cell, row.verdict, &row.deviation) {
                (Cell::Within(so_far), Verdict::Ok, Some(d)) => Cell::Within(so_far.max(d.ratio)),
                (_, Verdict::Ok, Some(deviation)) => Cell::Within(deviation.ratio),
                (Cell::Within(so_far), ..) => Cell::Within(so_far),
                (_, verdict, _) => Cell::Aside(verdict),
            };
        }
        cell
    }

    /// `step 3: `, if the candidate has several steps.
    pub(crate) fn step_prefix(&self, step: &Step) -> String {
        if self.found.steps.len() > 1 { format!("step {}: ", step.step) } else { String::new() }
    }

    /// The level, the file's name without the extension, and the path.
    fn titles(&self) -> [String; 3] {
        let level = self.run.first().map(|dump| host::shown(&dump.header.level).to_string());
        let name = self.path.file_name().unwrap_or_default().to_string_lossy();
        let name = name.strip_suffix(".gz").unwrap_or(&name);
        let stem = host::shown(name.strip_suffix(".json").unwrap_or(name)).to_string();
        [level.unwrap_or_default(), stem, host::shown(self.path).to_string()]
    }
}

/// The name of every tensor that these steps have a row of, in the order of computation.
pub(crate) fn names<'s>(steps: impl IntoIterator<Item = &'s Step>) -> Vec<TensorName> {
    let mut names = Vec::new();
    for row in steps.into_iter().flat_map(|step| step.rows().iter()) {
        if !names.contains(&row.name) {
            names.push(row.name);
        }
    }
    names
}

/// A title for each candidate: its level if no other candidate has the same, otherwise its file's name without the
/// extension, otherwise the whole path.
pub(crate) fn titles(candidates: &[Candidate<'_>]) -> Vec<String> {
    let all: Vec<[String; 3]> = candidates.iter().map(Candidate::titles).collect();
    let title = |own: &[String; 3]| {
        let is_unique = |&at: &usize| all.iter().filter(|other| other[at] == own[at]).count() == 1;
        own[(0..2).find(is_unique).unwrap_or(2)].clone()
    };
    all.iter().map(title).collect()
}
