//! The part of the page about one candidate.

use std::collections::BTreeMap;

use page::{Chart, ERRORS, Line, Packed, VALUES};
use serde::Serialize;
use tensor::{Dump, DumpedTensor, TensorName};

use super::cells::Evidence;
use super::chain::{Drawing, Status, statuses};
use super::matrix::{self, Matrix};
use super::section::{Section, Tensor, TensorData, section};
use crate::chain::{layers, names};
use crate::finding::{Divergence, Pattern};
use crate::judge::{Candidate, Drift, Row, Run, Step, Verdict};
use crate::numeric::extremes;
use crate::write::plain_verdict;
use crate::write::table::write_origin;

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
    tensors: BTreeMap<String, TensorData>,
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
    /// The origin of the files.
    legends: Vec<String>,
    /// Tensors and steps, and the losses, of a run.
    run: Option<RunPart>,
    /// The title of the step that is shown, if there are several.
    step: Option<String>,
    chain: Drawing,
    tensors: Vec<Section>,
}

#[derive(Serialize)]
struct First {
    link: String,
    fault: Divergence,
    /// `Likely` or `Unexplained`, and the explanation.
    pattern: Option<(&'static str, String)>,
}

#[derive(Serialize)]
struct RunPart {
    matrix: Matrix,
    losses: String,
    drift: Option<String>,
}

impl Subject<'_> {
    /// Makes the candidate's part, and adds its tensors to the page's data, with at most `most` cells for each.
    pub(crate) fn pair(&self, most: usize, data: &mut Data) -> Pair {
        let Self { n, reference, candidate, scale_tolerance, .. } = *self;
        let found = &candidate.found;
        let at = found.faulty().unwrap_or(found.steps.len() - 1);
        let (step, dump) = (&found.steps[at], &candidate.run[at]);
        let other = reference.map(|(_, run)| &run[at]);
        let statuses = statuses(step);
        let layers = layers(dump).max(other.map_or(0, layers));

        let images = images(dump);
        let side = images.as_ref().map(|images| images.side);
        data.images.extend(images.map(|images| (n, images)));
        let alone = Evidence::new(None, candidate, at, scale_tolerance);
        let compared =
            reference.map(|run| Evidence::new(Some(run), candidate, at, scale_tolerance));
        let tensor = |row: &Row| {
            let status = statuses.get(&row.name).copied().unwrap_or(Status::Absent);
            let verdict = step.label(row);
            // If it is within the bounds of the comparison but wrong by itself, the judgement is shown.
            let by_itself =
                matches!(status, Status::First | Status::Fault) && row.verdict == Verdict::Ok;
            let own = step.own.rows.get(row.name).filter(|_| by_itself);
            let (row, reference, evidence) = match (own, &compared) {
                (None, Some(compared)) => (row, other, compared),
                _ => (own.unwrap_or(row), None, &alone),
            };
            Tensor { n, row, status, verdict, layers, dump, reference, evidence, most, side }
                .section()
        };
        let mut tensors = Vec::new();
        for (section, drawn) in step.rows().iter().map(tensor) {
            data.tensors.extend(drawn.map(|drawn| (section.id.clone(), drawn)));
            tensors.push(section);
        }
        // If nothing is wrong, the tensor that is closest to its bound is open.
        let ratio = |row: &Row| row.deviation.as_ref().map_or(0.0, |found| found.ratio);
        let rows = step.rows();
        let closest = (0..rows.len()).max_by(|&a, &b| ratio(&rows[a]).total_cmp(&ratio(&rows[b])));
        if let Some(closest) = closest.filter(|_| step.first_fault().is_none()) {
            tensors[closest].open = true;
        }
        // The first fault before all others, which stay in the order of computation.
        tensors.sort_by_key(|section| section.status != Status::First);
        let several = found.steps.len() > 1;
        // Tensors of layers that the network doesn't have have no place in the drawing.
        let known = names(layers);
        let drawn = rows.iter().map(|row| row.name).filter(|name| known.contains(name));
        let drawn: Vec<TensorName> = drawn.collect();
        Pair {
            n,
            title: self.title.to_owned(),
            right: found.agrees(),
            headline: plain_verdict(
                candidate.path,
                reference.map(|(path, _)| path),
                found.agrees(),
            ),
            first: step.first_fault().map(|fault| First {
                link: section(n, fault.tensor),
                fault: fault.clone(),
                pattern: fault.pattern.as_ref().map(Pattern::sentence),
            }),
            warnings: found.warnings.clone(),
            legends: self.legends(at),
            run: several.then(|| self.run(at)),
            step: several.then(|| {
                let faulty = step.first_fault().is_some();
                let why = if faulty { "the first with a fault" } else { "the last" };
                format!("Step {}, {why}", step.step)
            }),
            chain: Drawing::new(layers, &statuses, &drawn, |name| section(n, name)),
            tensors,
        }
    }

    fn legends(&self, at: usize) -> Vec<String> {
        let candidate = (self.candidate.path, self.candidate.run);
        let files = self.reference.map(|run| ("reference", run)).into_iter();
        let line = |(role, (path, run)): (&str, Run<'_>)| {
            let mut text = Vec::new();
            // Writing to memory can't fail.
            let _ = write_origin(&mut text, role, path, &run[at].header);
            String::from_utf8_lossy(&text).trim_end().to_owned()
        };
        files.chain([("candidate", candidate)]).map(line).collect()
    }

    fn run(&self, at: usize) -> RunPart {
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
        let compared = self.reference.is_some();
        let reference = compared.then(|| line("reference", &|step| step.reference_loss));
        let losses = reference.into_iter().chain([line("candidate", &|step| step.loss)]);
        RunPart {
            matrix: matrix::steps(self.n, self.candidate, at),
            losses: chart("loss", losses.collect()),
            drift: compared.then(|| {
                let apart = line("parameters apart", &drift(|drift| drift.apart));
                let allowed = line("allowed there", &drift(|drift| drift.allowed));
                chart("log10", vec![apart, allowed])
            }),
        }
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
