//! The status of each tensor, and the chain of computation as a drawing: forward from left to right, backward below it,
//! each gradient under its tensor.

use std::collections::HashMap;

use serde::Serialize;
use tensor::TensorName;

use crate::chain::operation::operation;
use crate::judge::{Step, Verdict};

/// The status of a tensor, for all drawings. Each has a mark, so that nothing depends on colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Status {
    /// Given to the step.
    Given,
    /// Right.
    Right,
    /// The first wrong tensor.
    First,
    /// Wrong by itself, after the first.
    Fault,
    /// The right result of wrong inputs.
    Inherited,
    /// Not materialised.
    Absent,
}

impl Status {
    const fn is_wrong(self) -> bool {
        matches!(self, Self::First | Self::Fault | Self::Inherited)
    }
}

/// The status of each tensor in a step.
pub(crate) fn statuses(step: &Step) -> HashMap<TensorName, Status> {
    let first = step.first_fault().map(|fault| fault.tensor);
    let rows = step.rows();
    let layers = rows.iter().map(|row| if let TensorName::Z(l) = row.name { l } else { 0 });
    let layers = layers.max().unwrap_or(0);
    let mut all: HashMap<TensorName, Status> = HashMap::new();
    for row in rows.iter() {
        // Without a reference, a right result of wrong inputs counts as inherited.
        let inputs = operation(row.name, layers, None).map_or_else(Vec::new, |made| made.inputs);
        let has_wrong_input = step.comparison.is_none()
            && inputs.iter().any(|input| all.get(input).is_some_and(|status| status.is_wrong()));
        let own = match &step.comparison {
            Some(comparison) => comparison.is_own_fault(row.name),
            None => row.verdict.is_mismatch().then_some(true),
        };
        let status = match row.verdict {
            _ if first == Some(row.name) => Status::First,
            Verdict::NotMaterialised => Status::Absent,
            Verdict::Inherited => Status::Inherited,
            Verdict::Ok if own == Some(true) => Status::Fault,
            Verdict::Ok | Verdict::Given if row.name.is_given() => Status::Given,
            Verdict::Ok | Verdict::Given if has_wrong_input => Status::Inherited,
            Verdict::Ok | Verdict::Given => Status::Right,
            _ if own == Some(false) => Status::Inherited,
            _ => Status::Fault,
        };
        all.insert(row.name, status);
    }
    all
}

/// The size of a box, and the distance of boxes; the template repeats the size.
const WIDTH: f64 = 86.0;
const HEIGHT: f64 = 30.0;
const COLUMN: f64 = 96.0;
const ROW: f64 = 72.0;

/// The drawing, whose markup is in the template.
#[derive(Serialize)]
pub(crate) struct Drawing {
    width: f64,
    height: f64,
    edges: Vec<Edge>,
    nodes: Vec<Node>,
}

/// An arrow from the border of one box to that of another; thick if it carries a fault on.
#[derive(Serialize)]
struct Edge {
    path: String,
    carries: bool,
}

/// A box around a point, which leads to a section.
#[derive(Serialize)]
struct Node {
    name: TensorName,
    status: Status,
    x: f64,
    y: f64,
    section: String,
}

impl Drawing {
    /// The drawing of these tensors; each box leads to the section with the id that `section` gives.
    pub(crate) fn new(
        layers: usize,
        statuses: &HashMap<TensorName, Status>,
        names: &[TensorName],
        section: impl Fn(TensorName) -> String,
    ) -> Self {
        let status = |name| statuses.get(&name).copied().unwrap_or(Status::Absent);
        let edges = names.iter().flat_map(|&name| {
            let inputs = operation(name, layers, None).map_or_else(Vec::new, |made| made.inputs);
            let drawn = inputs.into_iter().filter(|input| names.contains(input));
            drawn.map(move |input| Edge {
                path: path(input, name, layers),
                carries: status(input).is_wrong() && status(name).is_wrong(),
            })
        });
        let nodes = names.iter().map(|&name| {
            let (x, y) = place(name, layers);
            Node { name, status: status(name), x, y, section: section(name) }
        });
        Self {
            width: place(TensorName::Loss, layers).0 + COLUMN / 2.0 + 4.0,
            height: 24.0 + 4.0 * ROW + HEIGHT,
            edges: edges.collect(),
            nodes: nodes.collect(),
        }
    }
}

/// The middle of a tensor's box.
fn place(name: TensorName, layers: usize) -> (f64, f64) {
    use TensorName::{A, B, BNext, Da, Db, Dw, Dz, Loss, P, W, WNext, X, Y, Z};
    // A layer takes three columns: two for z, over w and b, and one for a.
    let z = |l: usize| 1.5 + 3.0 * (l as f64 - 1.0) + 0.5;
    let half = 0.55;
    let (column, row) = match name {
        X => (0.5, 1.0),
        W(l) => (z(l) - half, 0.0),
        B(l) => (z(l) + half, 0.0),
        Z(l) => (z(l), 1.0),
        A(l) => (z(l) + 1.5, 1.0),
        P => (z(layers) + 1.3, 1.0),
        Loss => (z(layers) + 2.4, 1.0),
        Y => (z(layers) + 2.4, 0.0),
        Dz(l) => (z(l), 2.0),
        Da(l) => (z(l) + 1.5, 2.0),
        Dw(l) => (z(l) - half, 3.0),
        Db(l) => (z(l) + half, 3.0),
        WNext(l) => (z(l) - half, 4.0),
        BNext(l) => (z(l) + half, 4.0),
    };
    (column * COLUMN, 24.0 + row * ROW)
}

/// The path of an arrow.
fn path(from: TensorName, to: TensorName, layers: usize) -> String {
    use TensorName::{B, BNext, Loss, W, WNext, Z};
    // It bends if it has to avoid a box between its ends: from a parameter around its gradient, and from `z` around `p`.
    let bend = match (from, to) {
        (W(_), WNext(_)) => (-0.72 * COLUMN, 0.0),
        (B(_), BNext(_)) => (0.72 * COLUMN, 0.0),
        (Z(l), Loss) if l == layers => (0.0, -0.55 * ROW),
        _ => (0.0, 0.0),
    };
    let (from, to) = (place(from, layers), place(to, layers));
    let (middle_x, middle_y) = ((from.0 + to.0) / 2.0 + bend.0, (from.1 + to.1) / 2.0 + bend.1);
    // The point where the arrow crosses the border of the box.
    let border = |(x, y): (f64, f64), gap: f64| {
        let (dx, dy) = (middle_x - x, middle_y - y);
        let across = (WIDTH / 2.0 + gap) / dx.abs().max(1e-9);
        let along = (HEIGHT / 2.0 + gap) / dy.abs().max(1e-9);
        let t = across.min(along).min(0.9);
        (x + t * dx, y + t * dy)
    };
    let ((x1, y1), (x2, y2)) = (border(from, 1.0), border(to, 3.0));
    format!("M{x1:.1} {y1:.1}Q{middle_x:.1} {middle_y:.1} {x2:.1} {y2:.1}")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// In networks of one to five layers.
    #[test]
    fn no_two_boxes_overlap() {
        for layers in 1..=5 {
            let names = crate::chain::names(layers);
            for (i, &a) in names.iter().enumerate() {
                for &b in &names[..i] {
                    let ((ax, ay), (bx, by)) = (place(a, layers), place(b, layers));
                    let apart = (ax - bx).abs() > WIDTH + 8.0 || (ay - by).abs() > HEIGHT + 8.0;
                    assert!(apart, "{layers} layers: {a} and {b}");
                }
            }
        }
    }
}
