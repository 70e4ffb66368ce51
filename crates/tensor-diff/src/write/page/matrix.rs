//! Tables of verdicts, with a row for each tensor and a column for each level, or for each step of a run.

use serde::Serialize;
use tensor::TensorName;

use super::chain::{Status, statuses};
use super::section::section;
use crate::judge::{Candidate, Cell, names};
use crate::write::table::share;

/// A table of verdicts.
#[derive(Serialize)]
pub(crate) struct Matrix {
    heads: Vec<String>,
    rows: Vec<Line>,
}

#[derive(Serialize)]
struct Line {
    name: TensorName,
    cells: Vec<Field>,
}

#[derive(Serialize)]
struct Field {
    status: Status,
    text: String,
    /// The section about the tensor, if the page has one.
    link: Option<String>,
}

/// A column for each candidate.
pub(crate) fn levels(candidates: &[Candidate<'_>], titles: &[String]) -> Matrix {
    let field = |name: TensorName, (n, one): (usize, &Candidate<'_>)| {
        let (status, text) = match one.cell(name) {
            Cell::Nothing => (Status::Absent, "no such tensor".into()),
            Cell::Within(ratio) => (Status::Right, share(ratio)),
            Cell::Aside(verdict) => (Status::Absent, verdict.label().into()),
            Cell::Wrong(step, row) => {
                let status = statuses(step).get(&name).copied();
                (status.unwrap_or(Status::Fault), one.step_prefix(step) + &step.label(row))
            }
        };
        Field { status, text, link: Some(section(n, name)) }
    };
    let line = |name| {
        let each = candidates.iter().enumerate();
        Line { name, cells: each.map(|one| field(name, one)).collect() }
    };
    let names = names(candidates.iter().flat_map(|one| &one.found.steps));
    Matrix { heads: titles.to_vec(), rows: names.into_iter().map(line).collect() }
}

/// A column for each step; the cells of the step that is shown in full are links.
pub(crate) fn steps(n: usize, candidate: &Candidate<'_>, shown: usize) -> Matrix {
    let steps = &candidate.found.steps;
    let statuses: Vec<_> = steps.iter().map(statuses).collect();
    let field = |name: TensorName, at: usize| {
        let status = statuses[at].get(&name).copied().unwrap_or(Status::Absent);
        let deviation = steps[at].rows().get(name).and_then(|row| row.deviation.as_ref());
        let text = deviation.map_or_else(String::new, |found| share(found.ratio));
        Field { status, text, link: (at == shown).then(|| section(n, name)) }
    };
    let line = |name| Line { name, cells: (0..steps.len()).map(|at| field(name, at)).collect() };
    Matrix {
        heads: steps.iter().map(|step| format!("step {}", step.step)).collect(),
        rows: names(steps).into_iter().map(line).collect(),
    }
}
