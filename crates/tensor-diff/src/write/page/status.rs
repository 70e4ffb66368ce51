//! The status of each tensor, which all drawings share.

use std::collections::HashMap;

use serde::Serialize;
use tensor::TensorName;

use crate::chain;
use crate::chain::operation::operation;
use crate::judge::{Step, Verdict};

/// The status of a tensor.
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
    /// One character, so that nothing depends on colour.
    pub(crate) const fn mark(self) -> &'static str {
        match self {
            Self::Given => "·",
            Self::Right => "✓",
            Self::First => "✗✗",
            Self::Fault => "✗",
            Self::Inherited => "↳",
            Self::Absent => "∅",
        }
    }
}

/// The status of each tensor in a step.
pub(crate) fn statuses(step: &Step) -> HashMap<TensorName, Status> {
    let first = step.first_fault().map(|fault| fault.tensor);
    let rows = step.rows();
    let layers = rows.iter().map(|row| if let TensorName::Z(l) = row.name { l } else { 0 });
    let layers = layers.max().unwrap_or(0);
    let mut all = HashMap::new();
    for row in rows {
        // Without a reference, a right result of wrong inputs counts as inherited.
        let inputs = operation(row.name, layers, None).map(|operation| operation.inputs);
        let has_wrong_input = step.comparison.is_none()
            && inputs.is_some_and(|inputs| {
                let wrong = [Status::First, Status::Fault, Status::Inherited];
                inputs.iter().any(|input| all.get(input).is_some_and(|s| wrong.contains(s)))
            });
        let own = match &step.comparison {
            Some(comparison) => comparison.is_own_fault(row.name),
            None => row.verdict.is_mismatch().then_some(true),
        };
        let status = match row.verdict {
            _ if first == Some(row.name) => Status::First,
            Verdict::NotMaterialised => Status::Absent,
            Verdict::Inherited => Status::Inherited,
            Verdict::Ok if own == Some(true) => Status::Fault,
            Verdict::Ok | Verdict::Given if chain::is_given(row.name) => Status::Given,
            Verdict::Ok | Verdict::Given if has_wrong_input => Status::Inherited,
            Verdict::Ok | Verdict::Given => Status::Right,
            _ if own == Some(false) => Status::Inherited,
            _ => Status::Fault,
        };
        all.insert(row.name, status);
    }
    all
}
