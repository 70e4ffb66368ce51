//! The section of the page about one tensor.

use serde::Serialize;
use tensor::{Dump, TensorName};

use super::cells::{Cells, Evidence};
use super::chain::Status;
use super::derivation::derivation;
use crate::chain::operation::operation;
use crate::judge::{Deviation, Row};

/// One tensor's data for the script.
#[derive(Serialize)]
pub(crate) struct TensorData {
    name: TensorName,
    pair: usize,
    shape: Vec<usize>,
    #[serde(flatten)]
    cells: Cells,
    /// The side of the square picture in each row, if rows are pictures.
    side: Option<usize>,
    /// Whether each row belongs to a sample.
    samples: bool,
    /// The worst element, with the same numbers as in the JSON report.
    worst: Option<Worst>,
}

#[derive(Serialize)]
struct Worst {
    index: usize,
    #[serde(serialize_with = "crate::judge::number")]
    error: f64,
    #[serde(serialize_with = "crate::judge::number")]
    allowed: f64,
    #[serde(serialize_with = "crate::judge::number")]
    ratio: f64,
}

/// One tensor's text.
#[derive(Serialize)]
pub(crate) struct Section {
    pub(crate) id: String,
    name: TensorName,
    shape: String,
    pub(crate) status: Status,
    verdict: String,
    formula: Option<String>,
    derivation: String,
    /// The origin of the right values: `reference` or `recomputed`.
    expected: &'static str,
    numbers: Option<[String; 5]>,
    outside: Option<(usize, usize)>,
    histogram: Option<Vec<Bar>>,
    reduced: Option<String>,
    drawn: bool,
    /// Whether it is open when the page is loaded.
    pub(crate) open: bool,
}

/// A bar of a histogram: how many elements it has, the same in the width of a bar, and its height, which is
/// logarithmic.
#[derive(Serialize)]
struct Bar {
    elements: usize,
    short: String,
    height: f64,
}

/// The id of the section of a tensor of the n-th candidate.
pub(crate) fn section(n: usize, name: TensorName) -> String {
    format!("t{n}-{name}")
}

/// A tensor, its verdict, and its origin.
pub(crate) struct Tensor<'a> {
    pub(crate) n: usize,
    pub(crate) row: &'a Row,
    pub(crate) status: Status,
    pub(crate) verdict: String,
    pub(crate) layers: usize,
    pub(crate) dump: &'a Dump,
    /// The reference, if it is compared with one.
    pub(crate) reference: Option<&'a Dump>,
    pub(crate) evidence: &'a Evidence<'a>,
    /// The limit of its cells.
    pub(crate) most: usize,
    /// The side of the square pictures in the rows of `x`.
    pub(crate) side: Option<usize>,
}

impl Tensor<'_> {
    /// The tensor's section, and its data if it can be drawn.
    pub(crate) fn section(self) -> (Section, Option<TensorData>) {
        let Self { n, row, status, dump, reference, .. } = self;
        let name = row.name;
        let exhibit = self.evidence.exhibit(name);
        let (data, reduced) = exhibit.as_ref().map_or((None, None), |exhibit| {
            let (_, columns) = exhibit.rows_and_columns();
            let side = self.side.filter(|side| side * side == columns);
            let (cells, reduced) = exhibit.cells(self.most, side.is_some());
            let worst = row.deviation.as_ref().map(|worst| Worst {
                index: worst.worst,
                error: worst.worst_error,
                allowed: worst.allowed,
                ratio: worst.ratio,
            });
            let (shape, samples) = (exhibit.shape.to_vec(), name.has_a_row_for_each_sample());
            (Some(TensorData { name, pair: n, shape, cells, side, samples, worst }), reduced)
        });
        let deviation = row.deviation.as_ref();
        let section = Section {
            id: section(n, name),
            name,
            shape: row.shown_shape(),
            status,
            verdict: self.verdict,
            formula: operation(name, self.layers, dump.header.loss).map(|made| made.formula),
            derivation: derivation(name, dump, reference),
            expected: if reference.is_some() { "reference" } else { "recomputed" },
            numbers: deviation.map(Deviation::numbers),
            outside: deviation.map(|found| (found.outside, found.elements)),
            histogram: exhibit.and_then(|exhibit| exhibit.histogram()).map(bars),
            reduced,
            drawn: data.is_some(),
            open: status == Status::First,
        };
        (section, data)
    }
}

fn bars(elements: Vec<usize>) -> Vec<Bar> {
    let height = |n: usize| (n as f64 + 1.0).ln();
    let highest = height(elements.iter().copied().max().unwrap_or(0).max(1));
    let bar = |elements| {
        let short = match elements {
            0..1000 => elements.to_string(),
            1000..1_000_000 => format!("{}k", elements / 1000),
            _ => format!("{}M", elements / 1_000_000),
        };
        Bar { elements, short, height: 110.0 * (height(elements) / highest) }
    };
    elements.into_iter().map(bar).collect()
}
