//! The status of each tensor, tables of verdicts, and the chain of computation as a drawing: forward from left to
//! right, backward below it, each gradient under its tensor.

use std::collections::HashMap;

use serde::Serialize;
use serde_json::{Value, json};
use tensor::TensorName;

use super::View;
use super::section::id;
use crate::chain::operation::operation;
use crate::judge::{Candidate, Row, Step, Verdict, names};
use crate::write::table::share;

/// The status of a tensor, for all drawings. Each has a mark, so that nothing depends on colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Status {
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

/// The inputs of the operation that makes a tensor.
fn inputs(name: TensorName, layers: usize) -> Vec<TensorName> {
    operation(name, layers, None).map_or_else(Vec::new, |made| made.inputs)
}

/// The status of each tensor that a step has a row of.
pub(super) fn statuses(step: &Step) -> HashMap<TensorName, Status> {
    let first = step.first_fault().map(|fault| fault.tensor);
    let layers = step.rows().iter().map(|row| if let TensorName::Z(l) = row.name { l } else { 0 });
    let layers = layers.max().unwrap_or(0);
    let mut all: HashMap<TensorName, Status> = HashMap::new();
    for row in step.rows().iter() {
        // Without a reference, a right result of wrong inputs counts as inherited.
        let is_wrong = |input| all.get(input).is_some_and(|status| status.is_wrong());
        let has_wrong_input =
            step.comparison.is_none() && inputs(row.name, layers).iter().any(is_wrong);
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

/// A table with a row for each tensor and a column for each candidate.
pub(super) fn level_table(candidates: &[Candidate<'_>], titles: &[String]) -> Value {
    let steps = candidates.iter().flat_map(|one| &one.found.steps);
    table(titles.to_vec(), steps, |name, n| {
        let one = &candidates[n];
        let decisive = one.decisive_row(name);
        let ratio = |row: &Row| row.deviation.as_ref().map(|found| share(found.ratio));
        let (status, text) = match decisive.map(|(step, row)| (step, row, row.verdict, ratio(row)))
        {
            None => (Status::Absent, "no such tensor".into()),
            Some((step, row, ..)) if step.is_wrong(row) => {
                (statuses(step)[&name], one.step_prefix(step) + &step.label(row))
            }
            Some((.., Verdict::Ok, Some(ratio))) => (Status::Right, ratio),
            Some((.., verdict, _)) => (Status::Absent, verdict.label().into()),
        };
        json!({"status": status, "text": text, "link": id(n, name)})
    })
}

/// A table with a column for each step; the cells of the step that is shown in full are links.
pub(super) fn step_table(view: &View<'_>) -> Value {
    let steps = &view.candidate.found.steps;
    let statuses: Vec<_> = steps.iter().map(statuses).collect();
    let heads = steps.iter().map(|step| format!("step {}", step.step)).collect();
    table(heads, steps, |name, at| {
        let status = statuses[at].get(&name).unwrap_or(&Status::Absent);
        let deviation = steps[at].rows().get(name).and_then(|row| row.deviation.as_ref());
        let text = deviation.map_or_else(String::new, |found| share(found.ratio));
        // The page has sections of one step only.
        let link = (at == view.at).then(|| id(view.n, name));
        json!({"status": status, "text": text, "link": link})
    })
}

/// A table of verdicts, with a row for each tensor and a column for each heading.
fn table<'s>(
    heads: Vec<String>,
    steps: impl IntoIterator<Item = &'s Step>,
    cell: impl Fn(TensorName, usize) -> Value,
) -> Value {
    let row = |name| {
        let cells: Vec<Value> = (0..heads.len()).map(|column| cell(name, column)).collect();
        json!({"name": name, "cells": cells})
    };
    let rows: Vec<Value> = names(steps).into_iter().map(row).collect();
    json!({"heads": heads, "rows": rows})
}

/// The size of a box, and the distance of boxes; the template repeats the size.
const WIDTH: f64 = 86.0;
const HEIGHT: f64 = 30.0;
const COLUMN: f64 = 96.0;
const ROW: f64 = 72.0;

/// The drawing of these tensors, whose markup is in the template: a box around a point for each, which leads to its
/// section, and arrows from the border of one box to that of another, thick if they carry a fault on.
pub(super) fn drawing(view: &View<'_>, names: &[TensorName]) -> Value {
    let layers = view.layers;
    let is_wrong = |name| view.statuses[&name].is_wrong();
    let edges = names.iter().flat_map(|&name| {
        let drawn = inputs(name, layers).into_iter().filter(|input| names.contains(input));
        drawn.map(move |input| {
            json!({"path": path(input, name, layers), "carries": is_wrong(input) && is_wrong(name)})
        })
    });
    let nodes = names.iter().map(|&name| {
        let ((x, y), status) = (place(name, layers), view.statuses[&name]);
        json!({"name": name, "status": status, "x": x, "y": y, "section": id(view.n, name)})
    });
    json!({
        "width": place(TensorName::Loss, layers).0 + COLUMN / 2.0 + 4.0,
        "height": 24.0 + 4.0 * ROW + HEIGHT,
        "edges": edges.collect::<Vec<_>>(),
        "nodes": nodes.collect::<Vec<_>>(),
    })
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
    // The arrow bends if it has to avoid a box between its ends: from a parameter around its gradient, and from `z`
    // around `p`.
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
