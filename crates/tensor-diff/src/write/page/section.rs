//! The section of the page about one tensor.

use serde::Serialize;
use serde_json::{Value, json};
use tensor::TensorName;

use super::View;
use super::cells::{Cells, Exhibit};
use super::chain::Status;
use crate::chain::operation::{Rule, operation};
use crate::judge::rounding::Rounding;
use crate::judge::{Deviation, Row, Verdict};

/// One tensor's data for the script.
#[derive(Serialize)]
pub(super) struct TensorData {
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

/// The id of the section of a tensor of the n-th candidate.
pub(super) fn id(n: usize, name: TensorName) -> String {
    format!("t{n}-{name}")
}

impl View<'_> {
    /// A tensor's section, which may be open when the page is loaded; and its data if it can be drawn.
    pub(super) fn section(&self, row: &Row, open: bool) -> (Value, Option<TensorData>) {
        let name = row.name;
        let (status, label) = (self.statuses[&name], self.step.label(row));
        // If the tensor is within the bounds of the comparison but wrong by itself, its section shows the judgement.
        let by_itself =
            matches!(status, Status::First | Status::Fault) && row.verdict == Verdict::Ok;
        let own = self.step.own.rows.get(name).filter(|_| by_itself);
        let (row, compared) = own.map_or((row, self.compared.as_ref()), |own| (own, None));
        let exhibit = Exhibit::new(name, self.dump, compared.unwrap_or(&self.alone));
        let deviation = row.deviation.as_ref();
        let (data, reduced) = exhibit.as_ref().map_or((None, None), |exhibit| {
            let (_, columns) = exhibit.rows_and_columns();
            let side = self.side.filter(|side| side * side == columns);
            let (cells, reduced) = exhibit.cells(self.most, side.is_some());
            let worst = deviation.map(|worst| Worst {
                index: worst.worst,
                error: worst.worst_error,
                allowed: worst.allowed,
                ratio: worst.ratio,
            });
            let (shape, samples) = (exhibit.shape.to_vec(), name.has_a_row_for_each_sample());
            (Some(TensorData { name, pair: self.n, shape, cells, side, samples, worst }), reduced)
        });
        let made = operation(name, self.layers, self.dump.header.loss);
        let section = json!({
            "id": id(self.n, name),
            "name": name,
            "shape": row.shown_shape(),
            "status": status,
            "verdict": label,
            "formula": made.as_ref().map(|made| &made.formula),
            "bound": self.bound(name, made.map(|made| made.rule), compared.is_some()),
            "expected": if compared.is_some() { "reference" } else { "recomputed" },
            "numbers": deviation.map(Deviation::numbers),
            "outside": deviation.map(|found| (found.outside, found.elements)),
            "histogram": exhibit.and_then(|exhibit| exhibit.histogram()).map(bars),
            "reduced": reduced,
            "drawn": data.is_some(),
            "open": open,
        });
        (section, data)
    }

    /// The numbers in the derivation of a tensor's bound, whose words are in the template.
    fn bound(&self, name: TensorName, rule: Option<Rule>, is_compared: bool) -> Value {
        use TensorName::{Da, Dz, W, X, Y, Z};
        let header = &self.dump.header;
        let other = self.other.filter(|_| is_compared);
        let rounding = Rounding::new(other.map(|dump| &dump.header), header);
        let length = |name, axis: usize| {
            let tensor = self.dump.get(name).or_else(|| other?.get(name));
            tensor.and_then(|tensor| tensor.shape.get(axis)).copied().unwrap_or(0)
        };
        let gamma = |n: usize, relative: f64| format!("γ({n}) = {relative:.2e}");
        let (batch, classes) = (length(X, 0), length(Y, 1));
        let terms = match name {
            Z(layer) => length(W(layer), 1),
            Da(layer) => length(W(layer + 1), 0),
            _ => batch,
        };
        let sum = rule.and_then(|rule| if let Rule::Sum(sum) = rule { Some(sum) } else { None });
        let loss = batch * classes + 3;
        json!({
            "kind": name.to_string().replace(char::is_numeric, ""),
            "compared": is_compared,
            "step": header.step,
            "terms": terms,
            "last": name == Dz(self.layers),
            "sum": sum.map(|sum| gamma(sum.roundings(terms), sum.relative(terms, &rounding))),
            "factors": sum.and_then(|sum| sum.right).map(|_| header.dtype),
            "loss": gamma(loss, rounding.gamma(loss)),
            "scaled": gamma(5, rounding.gamma(5)),
        })
    }
}

/// The bars of a histogram: how many elements each has, and its height, which is logarithmic.
fn bars(elements: Vec<usize>) -> Vec<Value> {
    let height = |n: usize| (n as f64 + 1.0).ln();
    let highest = height(elements.iter().copied().max().unwrap_or(0).max(1));
    let bar = |n| json!({"elements": n, "height": 110.0 * (height(n) / highest)});
    elements.into_iter().map(bar).collect()
}
