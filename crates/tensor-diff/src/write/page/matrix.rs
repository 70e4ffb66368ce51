//! Tables of verdicts, with a row for each tensor and a column for each level, or for each step of a run.

use serde::Serialize;
use tensor::TensorName;

use super::section::section;
use super::status::{self, Status};
use crate::judge::{Candidate, Cell, RunComparison, names};
use crate::write::levels_table::share;
use crate::write::table::label;

/// A table.
#[derive(Serialize)]
pub(crate) struct Matrix {
    heads: Vec<String>,
    rows: Vec<Line>,
}

#[derive(Serialize)]
struct Line {
    name: String,
    cells: Vec<Field>,
}

#[derive(Serialize)]
struct Field {
    status: Status,
    mark: &'static str,
    text: String,
    /// The section about the tensor, if the page has one.
    link: Option<String>,
}

/// A column for each candidate.
pub(crate) fn levels(candidates: &[Candidate<'_>], titles: &[String]) -> Matrix {
    let field = |name: TensorName, (n, one): (usize, &Candidate<'_>)| {
        let (status, text) = match Cell::find(&one.found, name) {
            Cell::Nothing => (Status::Absent, "no such tensor".into()),
            Cell::Within(ratio) => (Status::Right, share(ratio)),
            Cell::Aside(verdict) => (Status::Absent, verdict.label().into()),
            Cell::Wrong(step, comparison, row) => {
                let status = status::statuses(step).get(&name).copied();
                let text = one.step_prefix(step) + &label(comparison, row);
                (status.unwrap_or(Status::Fault), text)
            }
        };
        Field { status, mark: status.mark(), text, link: Some(section(n, name)) }
    };
    let row = |name: TensorName| Line {
        name: name.to_string(),
        cells: candidates.iter().enumerate().map(|each| field(name, each)).collect(),
    };
    let names = names(candidates.iter().flat_map(|one| &one.found.steps));
    Matrix { heads: titles.to_vec(), rows: names.into_iter().map(row).collect() }
}

/// A column for each step; the cells of the step that is shown in full are links.
pub(crate) fn steps(n: usize, found: &RunComparison, shown: usize) -> Matrix {
    let heads = found.steps.iter().map(|step| format!("step {}", step.step)).collect();
    let statuses: Vec<_> = found.steps.iter().map(status::statuses).collect();
    let field = |name: TensorName, at: usize| {
        let status = statuses[at].get(&name).copied().unwrap_or(Status::Absent);
        let row = found.steps[at].rows().iter().find(|row| row.name == name);
        let deviation = row.and_then(|row| row.deviation.as_ref());
        let text = deviation.map_or_else(String::new, |found| share(found.ratio));
        let link = (at == shown).then(|| section(n, name));
        Field { status, mark: status.mark(), text, link }
    };
    let line = |name: TensorName| Line {
        name: name.to_string(),
        cells: (0..statuses.len()).map(|at| field(name, at)).collect(),
    };
    Matrix { heads, rows: names(&found.steps).into_iter().map(line).collect() }
}
