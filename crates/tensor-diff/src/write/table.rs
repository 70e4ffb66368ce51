//! The text: a table of one step with a row for each tensor, of a run with a line for each step, and of several
//! candidates with a column for each. Each function returns lines, with colours as ANSI escapes.

use std::path::Path;

use anstyle::{AnsiColor, Style};
use tensor::{Dump, Header, TensorName};

use super::plain_verdict;
use crate::finding::{Pattern, PatternKind};
use crate::judge::{Candidate, Deviation, Row, Run, Step, VARY, Verdict, names, titles};

const GOOD: Style = AnsiColor::Green.on_default();
const BAD: Style = AnsiColor::Red.on_default().bold();
const CAUTION: Style = AnsiColor::Yellow.on_default();

/// The worst element, its error and its bound are next to each other: these two numbers make the verdict.
const HEADINGS: [&str; 8] = [
    "tensor",
    "shape",
    "max abs error",
    "max rel error",
    "worst at",
    "error there",
    "allowed there",
    "verdict",
];

/// A cell and its colour.
type Cell = (String, Style);

/// A cell without colour.
fn plain(text: impl Into<String>) -> Cell {
    (text.into(), Style::new())
}

/// The lines of a table whose rows have equally many cells, each column as wide as its widest cell. `is_number` lists
/// the columns that are aligned to the right. Padding is never coloured, and nothing follows the last cell.
fn table(
    headings: impl IntoIterator<Item = impl Into<String>>,
    rows: impl Iterator<Item = Vec<Cell>>,
    is_number: fn(usize) -> bool,
) -> Vec<String> {
    let mut all =
        vec![headings.into_iter().map(|text| (text.into(), Style::new().bold())).collect()];
    all.extend(rows);
    let length = |cell: &Cell| cell.0.chars().count();
    let width = |at: usize| all.iter().map(|row: &Vec<Cell>| length(&row[at])).max().unwrap_or(0);
    let widths: Vec<usize> = (0..all[0].len()).map(width).collect();
    let padded = |(at, cell): (usize, &Cell)| {
        let (text, style) = cell;
        let (text, padding) = (format!("{style}{text}{style:#}"), widths[at] - length(cell));
        match at {
            at if at + 1 == widths.len() => text,
            at if is_number(at) => format!("{:padding$}{text}", ""),
            _ => format!("{text}{:padding$}", ""),
        }
    };
    let line = |row: &Vec<Cell>| row.iter().enumerate().map(padded).collect::<Vec<_>>().join("  ");
    all.iter().map(line).collect()
}

/// The comparison of two dumps, or the judgement of a dump by itself.
pub(super) fn step_lines(
    step: &Step,
    reference: Option<(&Path, &Dump)>,
    (path, dump): (&Path, &Dump),
) -> Vec<String> {
    let verdict = verdict(path, reference.map(|(path, _)| path), step.agrees());
    let role = if reference.is_some() { "candidate" } else { "dump" };
    let origins = [reference.map(|of| ("reference", of)), Some((role, (path, dump)))];
    let origins = origins.into_iter().flatten();
    [
        warnings(step.warnings(), true),
        vec![format!("{verdict}: {}", counts(step).join(", "))],
        fault_lines(step),
        warnings(step.warnings(), false),
        surrounded(row_table(step)),
        origins.map(|(role, (path, dump))| origin(role, path, &dump.header)).collect(),
    ]
    .concat()
}

/// A table between two empty lines.
fn surrounded(table: Vec<String>) -> Vec<String> {
    [vec![String::new()], table, vec![String::new()]].concat()
}

/// The verdict in a few words: `a.json agrees with r.json`, coloured.
fn verdict(path: &Path, reference: Option<&Path>, agrees: bool) -> String {
    let style = if agrees { GOOD } else { BAD };
    format!("{style}{}{style:#}", plain_verdict(path, reference, agrees))
}

/// The numbers of right and of wrong tensors, in words.
fn counts(step: &Step) -> Vec<String> {
    const RESULTS: &str = "the results of their operations on its own inputs";
    let rows = step.rows();
    let [right, absent, given] =
        [Verdict::Ok, Verdict::NotMaterialised, Verdict::Given].map(|verdict| rows.count(verdict));
    let (wrong, all) = (rows.mismatches(), rows.len() - absent);
    let (mut counts, judged) = match (&step.comparison, step.agrees()) {
        (Some(_), true) => {
            (vec![format!("{right} tensors within the derived tolerance")], "compared")
        }
        (Some(_), false) => {
            let within = format!("{right} within the derived tolerance");
            (vec![format!("{wrong} of {all} tensors differ"), within], "compared")
        }
        (None, true) => (vec![format!("{right} tensors are {RESULTS}")], "judged"),
        (None, false) => {
            (vec![format!("{wrong} of {} tensors are not {RESULTS}", right + wrong)], "judged")
        }
    };
    let others = [(given, "given"), (absent, "not materialised")];
    let others = others.iter().filter(|(number, _)| *number > 0);
    counts.extend(others.map(|(number, what)| format!("{number} {what}, and not {judged}")));
    let scale = step.own.scale_tolerance;
    counts.extend((scale != 1.0).then(|| format!("every tolerance multiplied by {scale}")));
    counts
}

/// The warnings before the verdict, or those after it. That results vary comes before it, because it puts the verdict
/// in doubt.
fn warnings(all: &[String], before_verdict: bool) -> Vec<String> {
    let shown = all.iter().filter(|text| text.contains(VARY) == before_verdict);
    shown.map(|text| format!("{CAUTION}warning: {}{CAUTION:#}", host::shown(text))).collect()
}

impl Step {
    /// The verdict on a row in words; for a tensor that differs from a reference's, whether the fault is its own.
    pub(super) fn label(&self, row: &Row) -> String {
        let own = self.comparison.as_ref().map(|comparison| comparison.is_own_fault(row.name));
        match (row.verdict, own) {
            (Verdict::Differs, None) => "WRONG".into(),
            (Verdict::Differs, Some(Some(true))) => "DIFFERS, its own fault".into(),
            (Verdict::Differs, Some(Some(false))) => "DIFFERS, inherited".into(),
            (Verdict::Ok, Some(Some(true))) => "WRONG by itself".into(),
            (verdict, _) => verdict.label().into(),
        }
    }
}

impl Pattern {
    /// `Likely` or `Unexplained`, and the sentence that follows.
    pub(super) fn sentence(&self) -> (&'static str, String) {
        let word = if self.kind == PatternKind::Unexplained { "Unexplained" } else { "Likely" };
        let explains = match self.explains {
            0 | 1 => String::new(),
            n => format!(" (explains {n} wrong elements)"),
        };
        (word, format!("{}{explains}", self.text))
    }
}

/// The first fault of a step as sentences.
fn fault_lines(step: &Step) -> Vec<String> {
    let Some(fault) = step.first_fault() else { return Vec::new() };
    let pattern = fault.pattern.as_ref().map(|pattern| {
        let (word, text) = pattern.sentence();
        format!("{CAUTION}{word}{CAUTION:#}: {text}.")
    });
    [fault.reading.clone()].into_iter().chain(pattern).collect()
}

fn row_table(step: &Step) -> Vec<String> {
    let line = |row: &Row| {
        let label = step.label(row);
        let style = match row.verdict {
            Verdict::Ok if label == Verdict::Ok.label() => GOOD,
            Verdict::NotMaterialised | Verdict::Given => CAUTION,
            _ => BAD,
        };
        let none = || ["-"; 5].map(String::from);
        let numbers = row.deviation.as_ref().map_or_else(none, Deviation::numbers);
        let mut cells = vec![plain(row.name.to_string()), plain(row.shown_shape())];
        cells.extend(numbers.map(plain));
        cells.push((label, style));
        cells
    };
    table(HEADINGS, step.rows().iter().map(line), |at| matches!(at, 2 | 3 | 5 | 6))
}

impl Row {
    /// The shape, or a dash if it is unknown.
    pub(super) fn shown_shape(&self) -> String {
        self.shape.as_ref().map_or_else(|| "-".into(), |shape| format!("{shape:?}"))
    }
}

impl Deviation {
    /// The numbers that the table and the page show: the largest errors, then the index of the worst element, its
    /// error and its bound.
    pub(super) fn numbers(&self) -> [String; 5] {
        let [absolute, relative, error, allowed] =
            [self.max_abs_error, self.max_relative_error, self.worst_error, self.allowed]
                .map(number);
        [absolute, relative, format!("{:?}", self.worst_index), error, allowed]
    }
}

/// Formats an error with three significant digits, which are enough.
fn number(value: f64) -> String {
    match value {
        0.0 => "0".into(),
        value if value.is_infinite() => "infinity".into(),
        value => format!("{value:.2e}"),
    }
}

/// The program that made a dump, and its settings.
pub(super) fn origin(role: &str, path: &Path, header: &Header) -> String {
    let loss = header.loss.map_or_else(|| "no loss named".into(), |loss| loss.to_string());
    let ranks = header.world_size.map_or_else(String::new, |ranks| format!(", {ranks} ranks"));
    format!(
        "{role}: {}, made by {}{ranks} on {}, {}, preset {}, {loss}, seed {}, step {}, learning rate {}",
        host::shown(path),
        host::shown(&header.level),
        host::shown(&header.device),
        header.dtype.name(),
        host::shown(&header.preset),
        header.seed,
        header.step,
        header.learning_rate,
    )
}

/// The verdict on a run; on two, if there is a reference.
pub(super) fn run_lines(reference: Option<Run<'_>>, candidate: &Candidate<'_>) -> Vec<String> {
    let Candidate { path, run, found } = candidate;
    let verdict = verdict(path, reference.map(|(path, _)| path), found.agrees());
    let steps = found.steps.len();
    let steps = format!("{steps} step{}", if steps == 1 { "" } else { "s" });
    let faulty = found.faulty().map(|at| (at, &found.steps[at]));
    let counts = match faulty.and_then(|(_, step)| Some((step.step, step.first_fault()?.tensor))) {
        None => format!("{steps}, no fault in any"),
        Some((step, tensor)) => {
            format!("of {steps} step {step} is the first with a fault, in {tensor}")
        }
    };
    let mut head = vec!["step", "loss", "right by itself", "first fault"];
    if reference.is_some() {
        head.splice(2..2, ["reference", "parameters apart", "allowed there"]);
    }
    let rows = found.steps.iter().map(|step| step_cells(step, reference.is_some()));
    let end = match faulty {
        Some((at, step)) => {
            let reference = reference.map(|(path, run)| (path, &run[at]));
            let lines = step_lines(step, reference, (path, &run[at]));
            [vec![format!("step {}:", step.step)], lines].concat()
        }
        None => {
            let files = reference.map(|run| ("reference", run)).into_iter();
            origins(files.chain([("run", (*path, *run))]))
        }
    };
    [
        warnings(&found.warnings, true),
        vec![format!("{verdict}: {counts}")],
        warnings(&found.warnings, false),
        surrounded(table(head, rows, |_| true)),
        end,
    ]
    .concat()
}

/// The origins of the first steps of runs.
fn origins<'a>(runs: impl Iterator<Item = (&'a str, Run<'a>)>) -> Vec<String> {
    let first = |(role, (path, run)): (_, Run<'_>)| Some(origin(role, path, &run.first()?.header));
    runs.filter_map(first).collect()
}

fn step_cells(step: &Step, compared: bool) -> Vec<Cell> {
    let cell =
        |value: Option<f64>, shown: fn(f64) -> String| plain(value.map_or("-".into(), shown));
    let loss = |loss| cell(loss, |loss| format!("{loss:.6}"));
    let own = &step.own.rows;
    let right = own.count(Verdict::Ok);
    let mut cells = vec![plain(step.step.to_string()), loss(step.loss)];
    if compared {
        let drift = step.drift.as_ref();
        cells.push(loss(step.reference_loss));
        cells.push(cell(drift.map(|drift| drift.apart), number));
        cells.push(cell(drift.map(|drift| drift.allowed), number));
    }
    cells.push(plain(format!("{right} of {}", right + own.mismatches())));
    cells.push(step.first_fault().map_or_else(
        || ("none".into(), GOOD),
        |fault| {
            let own = own.get(fault.tensor).is_some_and(|row| row.verdict.is_mismatch());
            let whose = if own { "wrong by itself" } else { "differs" };
            (format!("{} {whose}", fault.tensor), BAD)
        },
    ));
    cells
}

/// The verdict on several candidates.
pub(super) fn level_lines(reference: Run<'_>, candidates: &[Candidate<'_>]) -> Vec<String> {
    let titles = titles(candidates);
    let (agreeing, all) =
        (candidates.iter().filter(|one| one.found.agrees()).count(), candidates.len());
    let style = if agreeing == all { GOOD } else { BAD };
    let shown = host::shown(reference.0);
    let before = candidates.iter().flat_map(|one| warnings(&one.found.warnings, true));
    let mut lines: Vec<String> = before.collect();
    lines.push(format!("{style}{agreeing} of {all} agree with {shown}{style:#}"));
    for (one, title) in candidates.iter().zip(&titles) {
        let after = one.found.warnings.iter().filter(|text| !text.contains(VARY)).map(host::shown);
        lines.extend(after.map(|text| format!("{CAUTION}{title}: warning: {text}{CAUTION:#}")));
        if let Some(step) = one.found.first_faulty() {
            let several = one.found.steps.len() > 1;
            let at = if several { format!(", step {}", step.step) } else { String::new() };
            lines.push(format!("\n{BAD}{title}{at}{BAD:#}:"));
            lines.extend(fault_lines(step));
        }
    }
    let steps = || candidates.iter().flat_map(|one| &one.found.steps);
    let row = |name| {
        let mut rows = steps().filter_map(|step| step.rows().get(name));
        let shape = rows.find(|row| row.shape.is_some()).map_or("-".into(), Row::shown_shape);
        let cells = candidates.iter().map(|one| cell(one, name));
        [plain(name.to_string()), plain(shape)].into_iter().chain(cells).collect()
    };
    let head = ["tensor", "shape"].map(String::from).into_iter().chain(titles);
    let files = candidates.iter().map(|one| ("candidate", (one.path, one.run)));
    let legend = "a number is the largest error as a multiple of its bound: above 1 is a mismatch";
    [
        lines,
        surrounded(table(head, names(steps()).into_iter().map(row), |_| false)),
        vec![legend.to_owned(), String::new()],
        origins([("reference", reference)].into_iter().chain(files)),
    ]
    .concat()
}

fn cell(one: &Candidate<'_>, name: TensorName) -> Cell {
    let Some((step, row)) = one.decisive_row(name) else { return ("-".into(), CAUTION) };
    let ratio = row.deviation.as_ref().map(|found| share(found.ratio));
    match (row.verdict, ratio) {
        (verdict, ratio) if step.is_wrong(row) => {
            let ratio = ratio.filter(|_| verdict == Verdict::Differs);
            let ratio = ratio.map_or_else(String::new, |ratio| ratio + " ");
            (format!("{}{ratio}{}", one.step_prefix(step), step.label(row)), BAD)
        }
        (Verdict::Ok, Some(ratio)) => (ratio, GOOD),
        (verdict, _) => (verdict.label().into(), CAUTION),
    }
}

/// Formats an error as a multiple of its bound, with two significant digits, which are enough.
pub(super) fn share(ratio: f64) -> String {
    match ratio {
        0.0 => "0".into(),
        ratio if ratio.is_nan() => "NaN".into(),
        ratio if ratio.is_infinite() => "infinite".into(),
        ratio => format!("{ratio:.1e}"),
    }
}
