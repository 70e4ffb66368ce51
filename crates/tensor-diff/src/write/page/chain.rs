//! The chain of computation as a drawing: forward from left to right, backward below it, each gradient
//! under its tensor. The frame and the mark of a box show the tensor's status, so that
//! nothing depends on colour.

use std::collections::HashMap;
use std::fmt::Write as _;

use tensor::TensorName;

use super::status::Status;
use crate::chain::operation::operation;

const WIDTH: f64 = 86.0;
const HEIGHT: f64 = 30.0;
const COLUMN: f64 = 96.0;
const ROW: f64 = 72.0;

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

/// The drawing as SVG; each box leads to the section with the id that `section` gives.
pub(crate) fn svg(
    layers: usize,
    statuses: &HashMap<TensorName, Status>,
    names: &[TensorName],
    section: impl Fn(TensorName) -> String,
) -> String {
    let (right, _) = place(TensorName::Loss, layers);
    let (width, height) = (right + COLUMN / 2.0 + 4.0, 24.0 + 4.0 * ROW + HEIGHT);
    let mut svg = format!(
        "<svg class=\"chain\" viewBox=\"0 0 {width:.0} {height:.0}\" width=\"{width:.0}\" \
         height=\"{height:.0}\" role=\"group\" aria-label=\"the chain of computation\"><defs>\
         <marker id=\"tip\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"6\" \
         markerHeight=\"6\" orient=\"auto-start-reverse\"><path d=\"M0 0 8 4 0 8z\"/></marker></defs>"
    );
    for &name in names {
        let Some(operation) = operation(name, layers, None) else { continue };
        for input in operation.inputs.into_iter().filter(|input| names.contains(input)) {
            let wrong = |name| {
                let status = statuses.get(&name);
                matches!(status, Some(Status::First | Status::Fault | Status::Inherited))
            };
            let bow = bow(input, name, layers);
            let carries = wrong(input) && wrong(name);
            edge(&mut svg, place(input, layers), place(name, layers), bow, carries);
        }
    }
    for &name in names {
        let status = statuses.get(&name).copied().unwrap_or(Status::Absent);
        node(&mut svg, name, status, place(name, layers), &section(name));
    }
    svg.push_str("</svg>");
    svg
}

/// The bend of an arrow that has to avoid a box between its ends: from a parameter around its
/// gradient, and from `z` around `p`.
fn bow(from: TensorName, to: TensorName, layers: usize) -> (f64, f64) {
    use TensorName::{B, BNext, Loss, W, WNext, Z};
    match (from, to) {
        (W(_), WNext(_)) => (-0.72 * COLUMN, 0.0),
        (B(_), BNext(_)) => (0.72 * COLUMN, 0.0),
        (Z(l), Loss) if l == layers => (0.0, -0.55 * ROW),
        _ => (0.0, 0.0),
    }
}

/// An arrow from the border of one box to that of another; thick if it carries a fault on.
fn edge(svg: &mut String, from: (f64, f64), to: (f64, f64), bow: (f64, f64), carries: bool) {
    let (middle_x, middle_y) = ((from.0 + to.0) / 2.0 + bow.0, (from.1 + to.1) / 2.0 + bow.1);
    // The point where the arrow crosses the border of the box.
    let border = |(x, y): (f64, f64), gap: f64| {
        let (dx, dy) = (middle_x - x, middle_y - y);
        let across = (WIDTH / 2.0 + gap) / dx.abs().max(1e-9);
        let along = (HEIGHT / 2.0 + gap) / dy.abs().max(1e-9);
        let t = across.min(along).min(0.9);
        (x + t * dx, y + t * dy)
    };
    let ((x1, y1), (x2, y2)) = (border(from, 1.0), border(to, 3.0));
    let class = if carries { "edge carries" } else { "edge" };
    // Writing to a string can't fail.
    let _ = write!(
        svg,
        "<path class=\"{class}\" d=\"M{x1:.1} {y1:.1}Q{middle_x:.1} {middle_y:.1} {x2:.1} {y2:.1}\" \
         marker-end=\"url(#tip)\"/>"
    );
}

fn node(svg: &mut String, name: TensorName, status: Status, (x, y): (f64, f64), section: &str) {
    let (class, words) = match status {
        Status::Given => ("given", "given"),
        Status::Right => ("right", "agrees"),
        Status::First => ("first", "the first fault"),
        Status::Fault => ("fault", "another fault"),
        Status::Inherited => ("inherited", "inherited"),
        Status::Absent => ("absent", "not materialised"),
    };
    let (left, top) = (x - WIDTH / 2.0, y - HEIGHT / 2.0);
    let radius = if status == Status::Given { HEIGHT / 2.0 } else { 4.0 };
    let _ = write!(
        svg,
        "<a href=\"#{section}\" class=\"node {class}\" aria-label=\"{name}: {words}\">\
         <title>{name}: {words}</title>"
    );
    if status == Status::First {
        let _ = write!(
            svg,
            "<rect class=\"frame\" x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\" rx=\"7\"/>",
            left - 4.0,
            top - 4.0,
            WIDTH + 8.0,
            HEIGHT + 8.0
        );
    }
    let _ = write!(
        svg,
        "<rect class=\"box\" x=\"{left:.1}\" y=\"{top:.1}\" width=\"{WIDTH}\" height=\"{HEIGHT}\" \
         rx=\"{radius}\"/><text x=\"{x:.1}\" y=\"{:.1}\">{name} {}</text></a>",
        y + 5.0,
        status.mark()
    );
}

#[cfg(test)]
mod tests {
    use tensor::{Loss, Network};

    use super::*;

    /// In networks of one to five layers.
    #[test]
    fn no_two_boxes_overlap() {
        for layers in 1..=5 {
            let sizes = vec![1; layers + 1];
            let names = Network { sizes, loss: Loss::CrossEntropy }.tensor_names();
            for (i, &a) in names.iter().enumerate() {
                for &b in &names[..i] {
                    let ((ax, ay), (bx, by)) = (place(a, layers), place(b, layers));
                    let apart = (ax - bx).abs() > WIDTH + 8.0 || (ay - by).abs() > HEIGHT + 8.0;
                    assert!(apart, "{layers} layers: {a} and {b}");
                }
            }
            let svg = svg(layers, &HashMap::new(), &names, |name| name.to_string());
            assert_eq!(svg.matches("<a ").count(), names.len());
        }
    }
}
