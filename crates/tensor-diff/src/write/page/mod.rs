//! The verdict as a self-contained HTML page. The template reads JSON values, and the script the tensors' elements.
//!
//! ```text
//! cells       each tensor with its right values and bounds, and the elements that the page shows
//! chain       the status of each tensor, the drawing of the computation, and tables of verdicts
//! section     all of that for one tensor, with the derivation of its bound
//! ```

mod cells;
mod chain;
mod section;

use std::collections::{BTreeMap, HashMap};
use std::io::{self, Write};

use page::{Chart, ERRORS, Line, Packed, Page, VALUES};
use serde::Serialize;
use serde_json::{Value, json};
use tensor::{Dump, DumpedTensor, TensorName};

use super::plain_verdict;
use super::table::origin;
use crate::chain::{layers, names};
use crate::finding::Pattern;
use crate::judge::{Candidate, Drift, Evidence, Row, Run, Step, evidence, moved_back, titles};
use crate::numeric::extremes;
use chain::{Status, drawing, level_table, statuses, step_table};
use section::{TensorData, id};

/// The largest number of elements of a tensor that are drawn on the page of one candidate: the first layer of 30
/// units on MNIST has fewer.
const MAX_CELLS: usize = 24_576;
/// The smallest limit of drawn elements of a tensor, on a page of many candidates.
const MIN_CELLS: usize = 512;

const PAGE: Page<'static> = Page {
    template: include_str!("page.html"),
    style: include_str!("page.css"),
    script: concat!(include_str!("maps.js"), include_str!("pictures.js"), include_str!("page.js")),
};

/// The data for the page's script.
#[derive(Serialize)]
struct Data {
    /// Colours of values, and of errors within their bounds.
    values: String,
    errors: String,
    /// The colour of errors beyond their bounds.
    beyond: String,
    tensors: BTreeMap<String, TensorData>,
    images: BTreeMap<usize, Images>,
}

/// A batch as pictures.
#[derive(Serialize)]
struct Images {
    side: usize,
    pixels: Packed,
}

/// Writes the verdict on one or several candidates as a self-contained HTML page. In a run, the first step with a fault
/// is shown in full, or the last step if there is no fault.
///
/// # Errors
/// If `out` can't be written.
pub fn write_page(
    out: &mut dyn Write,
    reference: Option<Run<'_>>,
    candidates: &[Candidate<'_>],
    scale_tolerance: f64,
) -> io::Result<()> {
    let moved = |run: &[Dump]| -> Vec<Dump> {
        run.iter().map(|dump| moved_back(dump, scale_tolerance).0.into_owned()).collect()
    };
    let reference_run = reference.map(|(path, run)| (path, moved(run)));
    let reference = reference_run.as_ref().map(|(path, run)| (*path, &run[..]));
    let runs: Vec<Vec<Dump>> = candidates.iter().map(|one| moved(one.run)).collect();
    let candidates: Vec<Candidate<'_>> =
        candidates.iter().zip(&runs).map(|(one, run)| Candidate { run, ..one.clone() }).collect();
    let titles = titles(&candidates);
    let mut data = Data {
        values: page::table(VALUES, 0.0, 1.0),
        errors: page::table(ERRORS, 0.0, 0.6),
        beyond: format!("{:x}", ERRORS.eval_continuous(1.0)),
        tensors: BTreeMap::new(),
        images: BTreeMap::new(),
    };
    let most = (MAX_CELLS / candidates.len().max(1)).max(MIN_CELLS);
    let pair = |(n, (candidate, title)): (usize, (&Candidate<'_>, &String))| {
        pair((n, title), reference, candidate, scale_tolerance, most, &mut data)
    };
    let pairs: Vec<Value> = candidates.iter().zip(&titles).enumerate().map(pair).collect();
    let agreeing = candidates.iter().filter(|one| one.found.agrees()).count();
    let (headline, levels) = if let [candidate] = &candidates[..] {
        (headline(candidate, reference), None)
    } else {
        let with =
            reference.map_or_else(String::new, |(path, _)| format!(" with {}", host::shown(path)));
        let headline = format!("{agreeing} of {} agree{with}", candidates.len());
        (headline, Some(level_table(&candidates, &titles)))
    };
    let right = agreeing == candidates.len();
    let content = json!({"right": right, "headline": headline, "levels": levels, "pairs": pairs});
    let page = PAGE.render(&headline, &content, &data).map_err(io::Error::other)?;
    out.write_all(page.as_bytes())
}

fn headline(candidate: &Candidate<'_>, reference: Option<Run<'_>>) -> String {
    plain_verdict(candidate.path, reference.map(|(path, _)| path), candidate.found.agrees())
}

/// A candidate, and the step of it that the page shows.
struct View<'a> {
    /// The candidate's number on the page.
    n: usize,
    candidate: &'a Candidate<'a>,
    reference: Option<Run<'a>>,
    /// The index of the step.
    at: usize,
    step: &'a Step,
    dump: &'a Dump,
    /// The same step of the reference.
    other: Option<&'a Dump>,
    layers: usize,
    statuses: HashMap<TensorName, Status>,
    /// The right values by the candidate itself, and by the reference.
    alone: Evidence<'a>,
    compared: Option<Evidence<'a>>,
    /// The limit of cells of a tensor.
    most: usize,
    /// The side of the square pictures in the rows of `x`.
    side: Option<usize>,
}

/// Makes the part of one candidate, and adds its tensors to the page's data, with at most `most` cells for each.
fn pair(
    (n, title): (usize, &str),
    reference: Option<Run<'_>>,
    candidate: &Candidate<'_>,
    scale_tolerance: f64,
    most: usize,
    data: &mut Data,
) -> Value {
    let found = &candidate.found;
    let at = found.faulty().unwrap_or(found.steps.len() - 1);
    let (step, dump) = (&found.steps[at], &candidate.run[at]);
    let images = images(dump);
    let other = reference.map(|(_, run)| &run[at]);
    let evidence = |reference| evidence(reference, candidate.run, at, scale_tolerance);
    let view = View {
        n,
        candidate,
        reference,
        at,
        step,
        dump,
        other,
        layers: layers(dump).max(other.map_or(0, layers)),
        statuses: statuses(step),
        alone: evidence(None),
        compared: reference.map(|(_, run)| evidence(Some(run))),
        most,
        side: images.as_ref().map(|images| images.side),
    };
    data.images.extend(images.map(|images| (n, images)));
    let mut rows: Vec<&Row> = step.rows().iter().collect();
    // Tensors of layers that the network doesn't have have no place in the drawing.
    let known = names(view.layers);
    let drawn = rows.iter().map(|row| row.name).filter(|name| known.contains(name));
    let chain = drawing(&view, &drawn.collect::<Vec<_>>());
    // If nothing is wrong, the tensor that is closest to its bound is open.
    let ratio = |row: &Row| row.deviation.as_ref().map_or(0.0, |found| found.ratio);
    let closest = rows.iter().max_by(|a, b| ratio(a).total_cmp(&ratio(b))).map(|row| row.name);
    let first = step.first_fault();
    let open = first.map_or(closest, |fault| Some(fault.tensor));
    // The first fault before all others, which stay in the order of computation.
    rows.sort_by_key(|row| view.statuses[&row.name] != Status::First);
    let mut section = |row: &&Row| {
        let (section, drawn) = view.section(row, open == Some(row.name));
        data.tensors.extend(drawn.map(|drawn| (id(n, row.name), drawn)));
        section
    };
    let tensors: Vec<Value> = rows.iter().map(&mut section).collect();
    let several = found.steps.len() > 1;
    let why = if first.is_some() { "the first with a fault" } else { "the last" };
    let other = reference.map(|(path, run)| origin("reference", path, &run[at].header));
    let legends = other.into_iter().chain([origin("candidate", candidate.path, &dump.header)]);
    json!({
        "n": n,
        "title": title,
        "right": found.agrees(),
        "headline": headline(candidate, reference),
        // The section of the first fault, and `Likely` or `Unexplained` with the explanation.
        "first": first.map(|fault| json!({
            "link": id(n, fault.tensor),
            "fault": fault,
            "pattern": fault.pattern.as_ref().map(Pattern::sentence),
        })),
        "warnings": found.warnings,
        "legends": legends.collect::<Vec<_>>(),
        "run": several.then(|| view.run()),
        "step": several.then(|| format!("Step {}, {why}", step.step)),
        "chain": chain,
        "tensors": tensors,
    })
}

impl View<'_> {
    /// Tensors and steps, and the losses, of a run.
    fn run(&self) -> Value {
        let line = |name: &str, of: &dyn Fn(&Step) -> Option<f64>| {
            let steps = self.candidate.found.steps.iter();
            let points = steps.filter_map(|step| Some((step.step as f64, of(step)?))).collect();
            Line { name: name.into(), points }
        };
        let chart = |y: &str, lines| {
            let (x, y) = ("step".into(), y.into());
            let chart = Chart { x, y, lines, range: None, logarithmic: false };
            chart.svg(620, 260).unwrap_or_default()
        };
        let drift =
            |of: fn(&Drift) -> f64| move |step: &Step| Some(of(step.drift.as_ref()?).log10());
        let mut losses = vec![line("candidate", &|step| step.loss)];
        let drift = self.reference.map(|_| {
            losses.insert(0, line("reference", &|step| step.reference_loss));
            let apart = line("parameters apart", &drift(|drift| drift.apart));
            chart("log10", vec![apart, line("allowed there", &drift(|drift| drift.allowed))])
        });
        json!({"matrix": step_table(self), "losses": chart("loss", losses), "drift": drift})
    }
}

/// The batch, if its rows are square pictures; a thousand samples are enough to look at.
fn images(dump: &Dump) -> Option<Images> {
    let DumpedTensor { shape, data: x, .. } = dump.get(TensorName::X)?;
    let &[_, columns] = &shape[..] else { return None };
    let side = columns.isqrt();
    if side * side != columns || !(8..=64).contains(&side) {
        return None;
    }
    let (low, high) = extremes(x.iter().copied().filter(|value| value.is_finite()));
    let scale = 255.0 / (high - low).max(f64::MIN_POSITIVE);
    let pixels = x.iter().take(1000 * columns).map(|value| ((value - low) * scale) as u8);
    Some(Images { side, pixels: page::bytes(&pixels.collect::<Vec<u8>>()) })
}
