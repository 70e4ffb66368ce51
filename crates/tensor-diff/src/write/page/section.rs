//! The section of the page about one tensor.

use serde::Serialize;
use serde_json::{Value, json};
use tensor::{Dtype, TensorName};

use super::View;
use super::cells::{Cells, Exhibit};
use super::chain::Status;
use crate::chain::operation::{Operation, Rule, operation};
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
    /// A tensor's section, which may be open when the page is loaded; and its data if it can be drawn, with at most
    /// `most` cells. `side` is that of the square pictures in the rows of `x`.
    pub(super) fn section(
        &self,
        row: &Row,
        open: bool,
        most: usize,
        side: Option<usize>,
    ) -> (Value, Option<TensorData>) {
        let name = row.name;
        let (status, label) = (self.statuses[&name], self.step.label(row));
        // If it is within the bounds of the comparison but wrong by itself, the judgement is shown.
        let by_itself =
            matches!(status, Status::First | Status::Fault) && row.verdict == Verdict::Ok;
        let own = self.step.own.rows.get(name).filter(|_| by_itself);
        let (row, compared) = own.map_or((row, self.compared.as_ref()), |own| (own, None));
        let exhibit = Exhibit::new(name, self.dump, compared.unwrap_or(&self.alone));
        let deviation = row.deviation.as_ref();
        let (data, reduced) = exhibit.as_ref().map_or((None, None), |exhibit| {
            let (_, columns) = exhibit.rows_and_columns();
            let side = side.filter(|side| side * side == columns);
            let (cells, reduced) = exhibit.cells(most, side.is_some());
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
            "derivation": self.derivation(name, made.as_ref(), compared.is_some()),
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

    /// The bound of a tensor's errors in words.
    fn derivation(&self, name: TensorName, made: Option<&Operation>, is_compared: bool) -> String {
        use TensorName::{A, B, Da, Db, Dw, Dz, Loss, P, W, X, Y};
        let header = &self.dump.header;
        let other = self.other.filter(|_| is_compared);
        let rounding = Rounding::new(other.map(|dump| &dump.header), header);
        let length = |name, axis: usize| {
            let tensor = self.dump.get(name).or_else(|| other?.get(name));
            tensor.and_then(|tensor| tensor.shape.get(axis)).copied().unwrap_or(0)
        };
        let batch = length(X, 0);
        let gamma = |n: usize| format!("γ({n}) = {:.2e}", rounding.gamma(n));
        let own = match (name, made.map(|made| (made.rule, &made.inputs[..]))) {
            (X | Y, _) => return "given: bit for bit the same".into(),
            (W(_) | B(_), _) if header.step == 0 => return "given: bit for bit the same".into(),
            (W(_) | B(_), _) if !is_compared => {
                return "bit for bit as the step before left it".into();
            }
            (W(_) | B(_), _) => {
                return "the largest difference that the updates before may have left".into();
            }
            (_, Some((Rule::Sum(sum), inputs))) => {
                let (terms, of, over) = match name {
                    Dw(_) => (batch, "Σ|dz|·|a|", format!("a batch of {batch}")),
                    Db(_) => (batch, "Σ|dz|", format!("a batch of {batch}")),
                    Da(_) => {
                        let units = length(inputs[1], 0);
                        (units, "Σ|dz|·|w|", format!("{units} units"))
                    }
                    _ => {
                        let terms = length(inputs[1], 1);
                        (terms, "(Σ|a|·|w| + |b|)", format!("{terms} terms"))
                    }
                };
                let rounded = match header.dtype {
                    Dtype::Tf32 if sum.right.is_some() => {
                        ", the factors rounded to TF32 and their sums cut off"
                    }
                    Dtype::Bf16 if sum.right.is_some() => {
                        ", the factors rounded to bfloat16 and their sums cut off"
                    }
                    _ => "",
                };
                let (n, relative) = (sum.roundings(terms), sum.relative(terms, &rounding));
                format!("γ({n}) = {relative:.2e}{rounded} times {of}, over {over}")
            }
            (A(_), _) => "relu rounds nothing".into(),
            (P, _) => "some units in the last place of exp and of the division".into(),
            (Loss, _) => format!(
                "some units in the last place of exp and log, and {} of the sum",
                gamma(batch * length(Y, 1) + 3)
            ),
            (Dz(l), _) if l == self.layers => format!("{} times |p − y| / B", gamma(5)),
            (Dz(_), _) => {
                "relu_backward rounds nothing; where z is within its own bound of zero, all of da"
                    .into()
            }
            _ => format!("{} times lr·|gradient|, and one rounding of the difference", gamma(5)),
        };
        let inputs = "; and the difference of the two dumps' inputs, carried through the operation";
        own + if is_compared { inputs } else { "" }
    }
}

/// The bars of a histogram: how many elements each has, the same in the width of a bar, and its height, which is
/// logarithmic.
fn bars(elements: Vec<usize>) -> Vec<Value> {
    let height = |n: usize| (n as f64 + 1.0).ln();
    let highest = height(elements.iter().copied().max().unwrap_or(0).max(1));
    let bar = |elements| {
        let short = match elements {
            0..1000 => elements.to_string(),
            1000..1_000_000 => format!("{}k", elements / 1000),
            _ => format!("{}M", elements / 1_000_000),
        };
        let height = 110.0 * (height(elements) / highest);
        json!({"elements": elements, "short": short, "height": height})
    };
    elements.into_iter().map(bar).collect()
}
