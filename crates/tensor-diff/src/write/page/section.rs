//! The section of the page about one tensor.

use serde::Serialize;
use tensor::{Dump, TensorName};

use super::cells::{Cells, cells};
use super::evidence::Evidence;
use super::pair::Data;
use super::status::Status;
use super::{derivation, histogram};
use crate::chain::operation::operation;
use crate::judge::{Deviation, Row};

/// One tensor's data for the script.
#[derive(Serialize)]
pub(crate) struct TensorData {
    name: String,
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
    id: String,
    name: String,
    shape: String,
    pub(crate) status: Status,
    mark: &'static str,
    verdict: String,
    formula: Option<String>,
    derivation: String,
    /// The origin of the right values: `reference` or `recomputed`.
    expected: &'static str,
    numbers: Option<[String; 5]>,
    outside: Option<(usize, usize)>,
    histogram: Option<String>,
    reduced: Option<String>,
    drawn: bool,
    /// Whether it is open when the page is loaded.
    pub(crate) open: bool,
}

/// The id of the section of a tensor of the n-th candidate.
pub(crate) fn section(n: usize, name: TensorName) -> String {
    format!("t{n}-{name}")
}

/// A tensor and its origin.
pub(crate) struct Tensor<'a> {
    pub(crate) n: usize,
    pub(crate) row: &'a Row,
    pub(crate) dump: &'a Dump,
    /// The reference, if it is compared with one.
    pub(crate) other: Option<&'a Dump>,
    pub(crate) most: usize,
    /// The side of the square pictures in the rows of `x`.
    pub(crate) side: Option<usize>,
}

impl Tensor<'_> {
    /// The tensor's section; its elements are added to the page's data.
    pub(crate) fn section(
        &self,
        (status, verdict): (Status, String),
        layers: usize,
        evidence: Option<&Evidence<'_>>,
        data: &mut Data,
    ) -> Section {
        let Self { n, row, dump, other, .. } = *self;
        let id = section(n, row.name);
        let exhibit = evidence.and_then(|evidence| evidence.exhibit(row.name));
        let exhibit = exhibit.filter(|exhibit| exhibit.elements() > 0);
        let mut reduced = None;
        if let Some(exhibit) = &exhibit {
            let (_, columns) = exhibit.rows_and_columns();
            let side = self.side.filter(|side| side * side == columns);
            let (cells, how) = cells(exhibit, self.most, side.is_some());
            reduced = how.map(|how| {
                let ((rows, columns), (high, wide)) = (how.cells, how.block);
                format!(
                    "Reduced to {rows} × {columns} cells: each shows, of {high} × {wide} elements, the \
                     one with the largest error, or where none errs the largest one."
                )
            });
            let worst = row.deviation.as_ref().map(|worst| Worst {
                index: flat(&worst.worst_index, exhibit.shape),
                error: worst.worst_error,
                allowed: worst.allowed,
                ratio: worst.ratio,
            });
            let tensor = TensorData {
                name: row.name.to_string(),
                pair: n,
                shape: exhibit.shape.to_vec(),
                cells,
                side,
                samples: row.name.has_a_row_for_each_sample(),
                worst,
            };
            data.tensors.insert(id.clone(), tensor);
        }
        let operation = operation(row.name, layers, dump.header.loss);
        let deviation = row.deviation.as_ref();
        Section {
            name: row.name.to_string(),
            shape: row.shown_shape(),
            status,
            mark: status.mark(),
            verdict,
            formula: operation.map(|operation| operation.formula),
            derivation: derivation::derivation(row.name, dump, other),
            expected: if other.is_some() { "reference" } else { "recomputed" },
            numbers: deviation.map(Deviation::numbers),
            outside: deviation.map(|found| (found.outside, found.elements)),
            histogram: exhibit.as_ref().and_then(histogram::svg),
            reduced,
            drawn: data.tensors.contains_key(&id),
            open: status == Status::First,
            id,
        }
    }
}

/// The position of an element in a row-major tensor.
fn flat(index: &[usize], shape: &[usize]) -> usize {
    index.iter().zip(shape).fold(0, |flat, (i, axis)| flat * axis + i)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indices_of_row_major_tensors_are_flattened() {
        assert_eq!(flat(&[], &[]), 0);
        assert_eq!(flat(&[2], &[5]), 2);
        assert_eq!(flat(&[1, 2], &[3, 4]), 6);
        assert_eq!(flat(&[2, 3], &[3, 4]), 11);
    }
}
