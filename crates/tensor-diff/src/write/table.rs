//! The text tables: of one step with a row for each tensor, of a run with a line for each step, and of several
//! candidates with a column for each.

use std::io::{self, Write};
use std::path::Path;

use anstyle::{AnsiColor, Style};
use tensor::{Dump, Header};

use super::verdict;
use crate::finding::{Divergence, Pattern, PatternKind};
use crate::judge::{self, Candidate, Deviation, Row, Run, Step, VARY, Verdict, names, titles};

pub(super) const GOOD: Style = AnsiColor::Green.on_default();
pub(super) const BAD: Style = AnsiColor::Red.on_default().bold();
const CAUTION: Style = AnsiColor::Yellow.on_default();

/// The worst element, its error and its bound are next to each other: these two numbers make
/// the verdict.
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

/// The cells of a heading.
fn headings(texts: impl IntoIterator<Item = impl Into<String>>) -> Vec<Cell> {
    texts.into_iter().map(|text| (text.into(), Style::new().bold())).collect()
}

/// Writes lines of equally many cells, each column as wide as its widest cell. `is_number` lists the columns that are
/// aligned to the right. Padding is never coloured, and nothing follows the last cell.
fn write_columns(
    out: &mut dyn Write,
    lines: &[Vec<Cell>],
    is_number: fn(usize) -> bool,
) -> io::Result<()> {
    let columns = lines.first().map_or(0, Vec::len);
    let length = |cell: &Cell| cell.0.chars().count();
    let width = |at: usize| lines.iter().map(|line| length(&line[at])).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns).map(width).collect();
    for line in lines {
        for (at, (cell, width)) in line.iter().zip(&widths).enumerate() {
            let ((text, style), padding) = (cell, width - length(cell));
            if at + 1 == columns {
                writeln!(out, "{style}{text}{style:#}")?;
            } else if is_number(at) {
                write!(out, "{:padding$}{style}{text}{style:#}  ", "")?;
            } else {
                write!(out, "{style}{text}{style:#}{:padding$}  ", "")?;
            }
        }
    }
    Ok(())
}

/// Writes the comparison of two dumps, or the judgement of a dump by itself.
pub(super) fn write_step(
    out: &mut dyn Write,
    step: &Step,
    reference: Option<(&Path, &Dump)>,
    (path, dump): (&Path, &Dump),
) -> io::Result<()> {
    let (first, others) = partition_warnings(step.warnings());
    warn(out, &first)?;
    let verdict = verdict(path, reference.map(|(path, _)| path), step.agrees());
    writeln!(out, "{verdict}: {}", counts(step).join(", "))?;
    write_divergence(out, step.first_fault())?;
    warn(out, &others)?;
    write_rows(out, step)?;
    let role = if reference.is_some() { "candidate" } else { "dump" };
    if let Some((path, dump)) = reference {
        write_origin(out, "reference", path, &dump.header)?;
    }
    write_origin(out, role, path, &dump.header)
}

/// The numbers of right and of wrong tensors, in words.
fn counts(step: &Step) -> Vec<String> {
    let rows = step.rows();
    let [right, absent, given] =
        [Verdict::Ok, Verdict::NotMaterialised, Verdict::Given].map(|verdict| rows.count(verdict));
    let (wrong, agrees) = (rows.mismatches(), step.agrees());
    let mut counts = Vec::new();
    let judged = if step.comparison.is_some() {
        if !agrees {
            counts.push(format!("{wrong} of {} tensors differ", rows.len() - absent));
        }
        let tensors = if agrees { "tensors " } else { "" };
        counts.push(format!("{right} {tensors}within the derived tolerance"));
        "compared"
    } else {
        let what = "the results of their operations on its own inputs";
        counts.push(if agrees {
            format!("{right} tensors are {what}")
        } else {
            format!("{wrong} of {} tensors are not {what}", right + wrong)
        });
        "judged"
    };
    let others = [(given, "given"), (absent, "not materialised")];
    for (number, what) in others.into_iter().filter(|(number, _)| *number > 0) {
        counts.push(format!("{number} {what}, and not {judged}"));
    }
    let scale = step.own.scale_tolerance;
    if scale != 1.0 {
        counts.push(format!("every tolerance multiplied by {scale}"));
    }
    counts
}

/// The warning that results vary comes before the verdict, because it puts the verdict in doubt; all others follow
/// the verdict.
fn partition_warnings(warnings: &[String]) -> (Vec<&String>, Vec<&String>) {
    warnings.iter().partition(|warning| warning.contains(VARY))
}

fn warn(out: &mut dyn Write, warnings: &[&String]) -> io::Result<()> {
    warnings
        .iter()
        .try_for_each(|text| writeln!(out, "{CAUTION}warning: {}{CAUTION:#}", host::shown(text)))
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

/// Writes the first divergence as sentences.
fn write_divergence(out: &mut dyn Write, divergence: Option<&Divergence>) -> io::Result<()> {
    let Some(divergence) = divergence else { return Ok(()) };
    writeln!(out, "{}", divergence.reading)?;
    let Some(pattern) = &divergence.pattern else { return Ok(()) };
    let (word, text) = pattern.sentence();
    writeln!(out, "{CAUTION}{word}{CAUTION:#}: {text}.")
}

/// Writes the rows between two empty lines.
fn write_rows(out: &mut dyn Write, step: &Step) -> io::Result<()> {
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
    let mut lines = vec![headings(HEADINGS)];
    lines.extend(step.rows().iter().map(line));
    writeln!(out)?;
    write_columns(out, &lines, |at| matches!(at, 2 | 3 | 5 | 6))?;
    writeln!(out)
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

/// Three significant digits are enough for an error.
fn number(value: f64) -> String {
    match value {
        0.0 => "0".into(),
        value if value.is_infinite() => "infinity".into(),
        value => format!("{value:.2e}"),
    }
}

/// Writes which program made a dump, and with which settings.
pub(super) fn write_origin(
    out: &mut dyn Write,
    role: &str,
    path: &Path,
    header: &Header,
) -> io::Result<()> {
    let loss = header.loss.map_or_else(|| "no loss named".into(), |loss| loss.to_string());
    let ranks = header.world_size.map_or_else(String::new, |ranks| format!(", {ranks} ranks"));
    writeln!(
        out,
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

/// Writes the verdict on a run; on two, if there is a reference.
pub(super) fn write_run(
    out: &mut dyn Write,
    reference: Option<Run<'_>>,
    candidate: &Candidate<'_>,
) -> io::Result<()> {
    let Candidate { path, run, found } = candidate;
    let (first, others) = partition_warnings(&found.warnings);
    warn(out, &first)?;
    write!(out, "{}: ", verdict(path, reference.map(|(path, _)| path), found.agrees()))?;
    let steps = found.steps.len();
    let steps = format!("{steps} step{}", if steps == 1 { "" } else { "s" });
    let faulty =
        found.first_faulty().and_then(|step| Some((step.step, step.first_fault()?.tensor)));
    match faulty {
        None => writeln!(out, "{steps}, no fault in any")?,
        Some((step, tensor)) => {
            writeln!(out, "of {steps} step {step} is the first with a fault, in {tensor}")?;
        }
    }
    warn(out, &others)?;
    writeln!(out)?;
    let compared = reference.is_some();
    let mut head = vec!["step", "loss"];
    if compared {
        head.extend(["reference", "parameters apart", "allowed there"]);
    }
    head.extend(["right by itself", "first fault"]);
    let mut lines = vec![headings(head)];
    lines.extend(found.steps.iter().map(|step| step_line(step, compared)));
    write_columns(out, &lines, |_| true)?;
    writeln!(out)?;
    if let Some(at) = found.faulty() {
        let step = &found.steps[at];
        writeln!(out, "step {}:", step.step)?;
        let reference = reference.map(|(path, run)| (path, &run[at]));
        return write_step(out, step, reference, (path, &run[at]));
    }
    if let Some((path, [first, ..])) = reference {
        write_origin(out, "reference", path, &first.header)?;
    }
    run.first().map_or(Ok(()), |first| write_origin(out, "run", path, &first.header))
}

fn step_line(step: &Step, compared: bool) -> Vec<Cell> {
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
    cells.push(match step.first_fault() {
        None => ("none".into(), GOOD),
        Some(fault) => {
            let own = own.get(fault.tensor).is_some_and(|row| row.verdict.is_mismatch());
            let whose = if own { "wrong by itself" } else { "differs" };
            (format!("{} {whose}", fault.tensor), BAD)
        }
    });
    cells
}

/// Writes the verdict on several candidates.
pub(super) fn write_levels(
    out: &mut dyn Write,
    (reference_path, reference): Run<'_>,
    candidates: &[Candidate<'_>],
) -> io::Result<()> {
    let titles = titles(candidates);
    for one in candidates {
        warn(out, &partition_warnings(&one.found.warnings).0)?;
    }
    let agreeing = candidates.iter().filter(|one| one.found.agrees()).count();
    let style = if agreeing == candidates.len() { GOOD } else { BAD };
    writeln!(
        out,
        "{style}{agreeing} of {} agree with {}{style:#}",
        candidates.len(),
        host::shown(reference_path)
    )?;
    for (one, title) in candidates.iter().zip(&titles) {
        for warning in partition_warnings(&one.found.warnings).1 {
            writeln!(out, "{CAUTION}{title}: warning: {}{CAUTION:#}", host::shown(warning))?;
        }
        if let Some(step) = one.found.first_faulty() {
            let several = one.found.steps.len() > 1;
            let at = if several { format!(", step {}", step.step) } else { String::new() };
            writeln!(out, "\n{BAD}{title}{at}{BAD:#}:")?;
            write_divergence(out, step.first_fault())?;
        }
    }
    writeln!(out)?;
    let mut lines = vec![headings(["tensor", "shape"].map(String::from).into_iter().chain(titles))];
    for name in names(candidates.iter().flat_map(|one| &one.found.steps)) {
        let steps = candidates.iter().flat_map(|one| &one.found.steps);
        let mut rows = steps.filter_map(|step| step.rows().get(name));
        let shape = rows.find(|row| row.shape.is_some()).map_or("-".into(), Row::shown_shape);
        let mut line = vec![plain(name.to_string()), plain(shape)];
        line.extend(candidates.iter().map(|one| cell(one, one.cell(name))));
        lines.push(line);
    }
    write_columns(out, &lines, |_| false)?;
    writeln!(
        out,
        "\na number is the largest error as a multiple of its bound: above 1 is a mismatch\n"
    )?;
    if let Some(first) = reference.first() {
        write_origin(out, "reference", reference_path, &first.header)?;
    }
    for one in candidates {
        if let Some(first) = one.run.first() {
            write_origin(out, "candidate", one.path, &first.header)?;
        }
    }
    Ok(())
}

fn cell(one: &Candidate<'_>, cell: judge::Cell<'_>) -> Cell {
    match cell {
        judge::Cell::Nothing => ("-".into(), CAUTION),
        judge::Cell::Within(ratio) => (share(ratio), GOOD),
        judge::Cell::Aside(verdict) => (verdict.label().into(), CAUTION),
        judge::Cell::Wrong(step, row) => {
            let ratio = row.deviation.as_ref().filter(|_| row.verdict == Verdict::Differs);
            let ratio = ratio.map_or_else(String::new, |found| share(found.ratio) + " ");
            (format!("{}{ratio}{}", one.step_prefix(step), step.label(row)), BAD)
        }
    }
}

/// An error as a multiple of its bound; two significant digits are enough.
pub(super) fn share(ratio: f64) -> String {
    match ratio {
        0.0 => "0".into(),
        ratio if ratio.is_nan() => "NaN".into(),
        ratio if ratio.is_infinite() => "infinite".into(),
        ratio => format!("{ratio:.1e}"),
    }
}
