//! The part of the page about one candidate.

use std::collections::BTreeMap;

use page::{Chart, ERRORS, Line, Packed, VALUES};
use serde::Serialize;
use tensor::{Dump, DumpedTensor, TensorName};

use super::chain;
use super::evidence::Evidence;
use super::matrix::{self, Matrix};
use super::section::{Section, Tensor, TensorData, section};
use super::status::{self, Status};
use crate::chain::layers;
use crate::finding::Pattern;
use crate::judge::{Candidate, Drift, Row, Run, Step, Verdict};
use crate::write::plain_verdict;
use crate::write::table::{label, own_label, write_origin};

/// A candidate, its reference, and its number on the page.
pub(crate) struct Subject<'a> {
    pub(crate) n: usize,
    pub(crate) title: &'a str,
    pub(crate) reference: Option<Run<'a>>,
    pub(crate) candidate: &'a Candidate<'a>,
    pub(crate) scale_tolerance: f64,
}

/// The data for the page's script.
#[derive(Serialize)]
pub(crate) struct Data {
    /// Colours of values, and of errors within their bounds.
    values: String,
    errors: String,
    /// The colour of errors beyond their bounds.
    beyond: String,
    pub(crate) tensors: BTreeMap<String, TensorData>,
    images: BTreeMap<usize, Images>,
}

impl Default for Data {
    fn default() -> Self {
        Self {
            values: page::table(VALUES, 0.0, 1.0),
            errors: page::table(ERRORS, 0.0, 0.6),
            beyond: format!("{:x}", ERRORS.eval_continuous(1.0)),
            tensors: BTreeMap::new(),
            images: BTreeMap::new(),
        }
    }
}

/// The batch as pictures.
#[derive(Serialize)]
struct Images {
    side: usize,
    pixels: Packed,
}

/// The part of the page that one candidate has.
#[derive(Serialize)]
pub(crate) struct Pair {
    n: usize,
    title: String,
    right: bool,
    pub(crate) headline: String,
    /// The section of the first fault.
    first: Option<First>,
    warnings: Vec<String>,
    legends: Vec<String>,
    /// Tensors and steps, and the losses, of a run.
    run: Option<RunPart>,
    /// The title of the step that is shown, if there are several.
    step: Option<String>,
    chain: String,
    tensors: Vec<Section>,
}

#[derive(Serialize)]
struct First {
    name: String,
    link: String,
    reading: String,
    /// `Likely` or `Unexplained`, and the explanation.
    pattern: Option<(&'static str, String)>,
}

#[derive(Serialize)]
struct RunPart {
    matrix: Matrix,
    losses: String,
    drift: String,
}

/// Makes a candidate's part, and adds its tensors to the page's data, with at most `most` cells for each.
pub(crate) fn pair(subject: &Subject<'_>, most: usize, data: &mut Data) -> Pair {
    let Subject { n, reference, candidate, scale_tolerance, .. } = *subject;
    let found = &candidate.found;
    let fault = found.steps.iter().position(|step| step.first_fault().is_some());
    let at = fault.unwrap_or_else(|| found.steps.len().saturating_sub(1));
    let (step, dump) = (&found.steps[at], &candidate.run[at]);
    let other = reference.and_then(|(_, run)| run.get(at));
    let statuses = status::statuses(step);
    let names: Vec<TensorName> = step.rows().iter().map(|row| row.name).collect();
    let layers = layers(dump).max(other.map_or(0, layers));
    let drawn: Vec<TensorName> =
        names.iter().copied().filter(|name| known(*name, layers)).collect();

    let side = images(n, dump, data);
    let alone = Evidence::new(None, candidate, at, scale_tolerance);
    let compared = reference.and_then(|_| Evidence::new(reference, candidate, at, scale_tolerance));
    let mut tensors: Vec<Section> = step
        .rows()
        .iter()
        .map(|row| {
            let status = statuses.get(&row.name).copied().unwrap_or(Status::Absent);
            let verdict = match &step.comparison {
                Some(comparison) => label(comparison, row),
                None => own_label(row),
            };
            // If it is within the bounds of the comparison but wrong by itself, the judgement is shown.
            let by_itself =
                matches!(status, Status::First | Status::Fault) && row.verdict == Verdict::Ok;
            let own = step.own.row(row.name).filter(|_| by_itself);
            let (row, other, evidence) = match (own, &compared) {
                (None, Some(compared)) => (row, other, Some(compared)),
                _ => (own.unwrap_or(row), None, alone.as_ref()),
            };
            let tensor = Tensor { n, row, dump, other, most, side };
            tensor.section((status, verdict), layers, evidence, data)
        })
        .collect();
    // If nothing is wrong, the tensor that is closest to its bound is open.
    if fault.is_none()
        && let Some(closest) = closest(step.rows())
    {
        tensors[closest].open = true;
    }
    // The first fault before all others, which stay in the order of computation.
    tensors.sort_by_key(|section| section.status != Status::First);
    let several = found.steps.len() > 1;
    Pair {
        n,
        title: subject.title.to_owned(),
        right: found.agrees(),
        headline: plain_verdict(candidate.path, reference.map(|(path, _)| path), found.agrees()),
        first: first(n, step),
        warnings: found.warnings.clone(),
        legends: legends(subject, at),
        run: several.then(|| run(subject, at)),
        step: several.then(|| {
            let why = if fault.is_some() { "the first with a fault" } else { "the last" };
            format!("Step {}, {why}", step.step)
        }),
        chain: chain::svg(layers, &statuses, &drawn, |name| section(n, name)),
        tensors,
    }
}

/// The row whose error is closest to its bound.
fn closest(rows: &[Row]) -> Option<usize> {
    let ratio = |row: &Row| row.deviation.as_ref().map_or(0.0, |found| found.ratio);
    (0..rows.len()).max_by(|&a, &b| ratio(&rows[a]).total_cmp(&ratio(&rows[b])))
}

/// Whether the network has such a layer, so that the tensor has a place in the drawing.
fn known(name: TensorName, layers: usize) -> bool {
    crate::chain::names(layers).contains(&name)
}

fn first(n: usize, step: &Step) -> Option<First> {
    let fault = step.first_fault()?;
    Some(First {
        name: fault.tensor.to_string(),
        link: section(n, fault.tensor),
        reading: fault.reading.clone(),
        pattern: fault.pattern.as_ref().map(Pattern::sentence),
    })
}

/// The origin of the files.
fn legends(subject: &Subject<'_>, at: usize) -> Vec<String> {
    let candidate = (subject.candidate.path, subject.candidate.run);
    let files = subject.reference.map(|run| ("reference", run)).into_iter();
    let line = |(role, (path, run)): (&str, Run<'_>)| {
        let mut text = Vec::new();
        // Writing to memory can't fail.
        let _ = run.get(at).map(|dump| write_origin(&mut text, role, path, &dump.header));
        String::from_utf8_lossy(&text).trim_end().to_owned()
    };
    files.chain([("candidate", candidate)]).map(line).collect()
}

fn run(subject: &Subject<'_>, at: usize) -> RunPart {
    let found = &subject.candidate.found;
    let line = |name: &str, of: &dyn Fn(&Step) -> Option<f64>| Line {
        name: name.into(),
        points: found.steps.iter().filter_map(|step| Some((step.step as f64, of(step)?))).collect(),
    };
    let mut lines = vec![line("candidate", &|step| step.loss)];
    let compared = subject.reference.is_some();
    if compared {
        lines.insert(0, line("reference", &|step| step.reference_loss));
    }
    let chart = |y: &str, lines| {
        let chart = Chart { x: "step".into(), y: y.into(), lines, range: None, logarithmic: false };
        chart.svg(620, 260).unwrap_or_default()
    };
    let drift = |of: fn(&Drift) -> f64| {
        move |step: &Step| step.drift.as_ref().map(|drift| of(drift).log10())
    };
    RunPart {
        matrix: matrix::steps(subject.n, found, at),
        losses: chart("loss", lines),
        drift: if compared {
            let apart = line("parameters apart", &drift(|drift| drift.apart));
            let allowed = line("allowed there", &drift(|drift| drift.allowed));
            chart("log10", vec![apart, allowed])
        } else {
            String::new()
        },
    }
}

/// The side of square pictures with `columns` pixels.
fn side(columns: usize) -> Option<usize> {
    let side = columns.isqrt();
    (side * side == columns && (8..=64).contains(&side)).then_some(side)
}

/// Adds the batch as pictures; a thousand samples are enough to look at.
fn images(n: usize, dump: &Dump, data: &mut Data) -> Option<usize> {
    let DumpedTensor { shape, data: x, .. } = dump.get(TensorName::X)?;
    let &[_, columns] = &shape[..] else { return None };
    let side = side(columns)?;
    let finite = || x.iter().copied().filter(|value| value.is_finite());
    let (low, high) =
        (finite().fold(f64::INFINITY, f64::min), finite().fold(f64::NEG_INFINITY, f64::max));
    let scale = 255.0 / (high - low).max(f64::MIN_POSITIVE);
    let pixels: Vec<u8> =
        x.iter().take(1000 * columns).map(|value| ((value - low) * scale) as u8).collect();
    data.images.insert(n, Images { side, pixels: page::bytes(&pixels) });
    Some(side)
}
