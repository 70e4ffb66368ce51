//! The operation that made the first wrong tensor, and whether its inputs are right, in a sentence or two.

use tensor::TensorName;

use super::list;
use crate::chain;
use crate::chain::operation::{Operation, operation};
use crate::finding::Finding;
use crate::judge::{self, Judgement, Row, Rows, Verdict};

/// The operation that makes the tensor.
pub(crate) fn operation_of(finding: &Finding<'_>) -> Option<Operation> {
    let [reference, candidate] = [finding.context.reference, finding.context.candidate];
    let loss = reference.header.loss.or(candidate.header.loss);
    operation(finding.row.name, layers(finding), loss)
}

fn layers(finding: &Finding<'_>) -> usize {
    chain::layers(finding.context.reference).max(chain::layers(finding.context.candidate))
}

/// Which operation made this tensor from tensors that agree, in a sentence or two.
pub(crate) fn describe(finding: &Finding<'_>) -> String {
    let name = finding.row.name;
    match (finding.row.verdict, finding.compared) {
        (Verdict::Missing, _) => missing(finding),
        (Verdict::Order, _) => {
            let mut misplaced = finding.context.misplaced.iter();
            let place = misplaced.find(|(misplaced, _)| *misplaced == name);
            format!(
                "{name} has the right values and comes {}: tensors are listed in the order of computation.",
                place.map_or("at the wrong place", |(_, place)| place)
            )
        }
        (Verdict::Unexpected, _) => {
            format!("{name} is not a tensor of this network, which has {} layers.", layers(finding))
        }
        (Verdict::NoBound, None) => {
            format!("{name} can't be recomputed: its inputs are missing or too long.")
        }
        (Verdict::NoBound, Some(_)) => format!(
            "{name} has no bound: the reference lacks tensors that the bound depends on, or their elements, \
             or a sum is too long for its arithmetic."
        ),
        (Verdict::Shape, None) => {
            format!("{name} doesn't have the shape that the network's sizes require.")
        }
        (_, None) => by_itself(finding),
        (_, Some((rows, own))) => against_the_reference(finding, rows, own),
    }
}

/// The description of a tensor that is wrong by itself.
fn by_itself(finding: &Finding<'_>) -> String {
    let Finding { row: Row { name, verdict, deviation, .. }, context, before, .. } = *finding;
    let (outside, all) = deviation.as_ref().map_or((0, 0), |found| (found.outside, found.elements));
    let Some(operation) = operation_of(finding) else {
        return match before {
            Some(before) if *verdict == Verdict::Differs => format!(
                "{name} is not what step {} left: {outside} of {all} elements were changed between the steps.",
                before.header.step
            ),
            _ => format!("{name}, which is given to the step, is not finite."),
        };
    };
    let what = match verdict {
        Verdict::Nan | Verdict::Infinite => "is not finite, but its inputs are".to_owned(),
        _ => format!("is wrong in {outside} of {all} elements"),
    };
    let Operation { formula, inputs, .. } = &operation;
    let is_absent = |input: &&TensorName| context.candidate.get(**input).is_none();
    let absent: Vec<TensorName> = inputs.iter().filter(is_absent).copied().collect();
    let comma = if absent.is_empty() { "" } else { ", which " };
    format!(
        "{name} is the first tensor that is wrong by itself. {formula}: recomputed in float64 from \
         this dump's own {}, it {what}; the fault is in {}{comma}{}.",
        list(inputs),
        suspects(&operation, &absent),
        not_materialised(&absent)
    )
}

/// The operations that may have the fault: the one that makes the tensor, and those that make inputs that the dump
/// doesn't hold.
fn suspects(operation: &Operation, absent: &[TensorName]) -> String {
    match absent {
        [] => operation.noun.to_owned(),
        _ => format!("{} or in the operation that makes {}", operation.noun, list(absent)),
    }
}

/// The words that follow the names of absent tensors in a sentence; empty if there are none.
fn not_materialised(absent: &[TensorName]) -> &'static str {
    match absent {
        [] => "",
        [_] => "is not materialised",
        _ => "are not materialised",
    }
}

/// The description of a tensor that differs from the reference's: the first wrong tensor, and whether the inputs of
/// its operation agree.
fn against_the_reference(finding: &Finding<'_>, rows: &Rows, own: &Judgement) -> String {
    let name = finding.row.name;
    let what = match finding.row.verdict {
        Verdict::Nan | Verdict::Infinite => "that is not finite",
        Verdict::Shape => "whose shape is wrong",
        _ => "that differs",
    };
    let Some(operation) = operation_of(finding) else {
        return format!(
            "{name} is the first tensor {what}. It is given to the step, not computed by it: these two dumps did not start \
             from the same inputs."
        );
    };
    let agrees =
        |&&input: &&TensorName| rows.get(input).is_some_and(|row| row.verdict == Verdict::Ok);
    let (agreeing, absent): (Vec<TensorName>, Vec<TensorName>) =
        operation.inputs.iter().partition(agrees);
    let agree = if agreeing.len() == 1 { "agrees" } else { "agree" };
    let clauses = [(&agreeing, agree), (&absent, not_materialised(&absent))];
    let clauses = clauses.iter().filter(|(names, _)| !names.is_empty());
    let first = format!(
        "{name} is the first tensor {what}. {}: {}, so the fault is in {}.",
        operation.formula,
        list(clauses.map(|(names, predicate)| format!("{} {predicate}", list(*names)))),
        suspects(&operation, &absent)
    );
    if finding.row.verdict != Verdict::Differs {
        return first;
    }
    // The candidate's judgement by itself.
    let again = format!("Recomputed from the candidate's own {} it is", list(&operation.inputs));
    let second = match own.rows.get(name).map(|row| (row.verdict, &row.deviation)) {
        Some((Verdict::Ok, _)) => {
            let reference = judge::judge(finding.context.reference, 1.0);
            let wrong = reference.rows.get(name).is_some_and(|row| row.verdict.is_mismatch());
            let who = if wrong {
                "and the reference's is not: the reference is at fault"
            } else {
                "so it inherited the difference from them"
            };
            format!("{again} right, {who}.")
        }
        Some((Verdict::Differs, Some(found))) => {
            format!("{again} wrong by itself, in {} of {} elements.", found.outside, found.elements)
        }
        _ => String::new(),
    };
    format!("{first} {second}")
}

fn missing(finding: &Finding<'_>) -> String {
    let name = finding.row.name;
    let [reference, candidate] =
        [finding.context.reference, finding.context.candidate].map(|dump| dump.get(name));
    let who = match (reference, candidate) {
        (None, None) => "both dumps",
        (None, Some(_)) => "the reference",
        _ => "the candidate",
    };
    let what_next = match name {
        _ if name.is_given() => {
            "without it, it is unknown whether both started from the same inputs."
        }
        TensorName::WNext(_) | TensorName::BNext(_) => {
            "every level has its parameters after the step."
        }
        _ => {
            "write it, or name it in the header's `not_materialised` if this level never holds it."
        }
    };
    format!("{name} is missing from {who}: {what_next}")
}
