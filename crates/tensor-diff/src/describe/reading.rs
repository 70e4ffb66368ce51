//! The operation that made the first wrong tensor, and whether its inputs are right, in a sentence or two.

use tensor::{Dump, TensorName};

use super::operation_of;
use crate::chain::operation::Operation;
use crate::chain::{self, is_given};
use crate::finding::Finding;
use crate::judge::{self, Context, Judgement, Row, Verdict};

/// Which operation made this tensor from tensors that agree, in a sentence or two.
pub(crate) fn describe(finding: &Finding<'_>) -> String {
    let Finding { row: Row { name, verdict, .. }, context, .. } = *finding;
    let layers = chain::layers(context.reference).max(chain::layers(context.candidate));
    match (verdict, finding.compared) {
        (Verdict::Missing, _) => missing(*name, context),
        (Verdict::Order, _) => misplaced(*name, context),
        (Verdict::Unexpected, _) => {
            format!("{name} is not a tensor of this network, which has {layers} layers.")
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
    let Finding { row, context, before, .. } = *finding;
    let name = row.name;
    let outside = row.deviation.as_ref().map_or((0, 0), |found| (found.outside, found.elements));
    let Some(operation) = operation_of(finding) else {
        return match before {
            Some(before) if row.verdict == Verdict::Differs => format!(
                "{name} is not what step {} left: {} of {} elements were changed between the steps.",
                before.header.step, outside.0, outside.1
            ),
            _ => format!("{name}, which is given to the step, is not finite."),
        };
    };
    let what = match row.verdict {
        Verdict::Nan | Verdict::Infinite => "is not finite, but its inputs are".to_owned(),
        _ => format!("is wrong in {} of {} elements", outside.0, outside.1),
    };
    format!(
        "{name} is the first tensor that is wrong by itself. {}: recomputed in float64 from \
         this dump's own {}, it {what}; the fault is in {}.",
        operation.formula,
        list(&operation.inputs),
        suspects(&operation, context)
    )
}

/// The description of a tensor that differs from the reference's.
fn against_the_reference(finding: &Finding<'_>, rows: &[Row], own: &Judgement) -> String {
    let operation = operation_of(finding);
    let first = first_and_inputs(finding.row, rows, operation.as_ref());
    match (operation, finding.row.verdict) {
        (Some(operation), Verdict::Differs) => {
            format!("{first} {}", by_its_inputs(finding.row, &operation, own, finding.context))
        }
        _ => first,
    }
}

/// The operations that may have the fault: the one that makes the tensor, and those that make inputs that the dump
/// doesn't hold.
fn suspects(operation: &Operation, context: &Context<'_>) -> String {
    let unseen: Vec<TensorName> = operation
        .inputs
        .iter()
        .copied()
        .filter(|&input| context.candidate.get(input).is_none())
        .collect();
    if unseen.is_empty() {
        operation.noun.to_owned()
    } else {
        format!(
            "{} or in the operation that makes {}, which {} not materialised",
            operation.noun,
            list(&unseen),
            are(&unseen)
        )
    }
}

/// The candidate's judgement by itself, for a tensor that differs from the reference's.
fn by_its_inputs(
    row: &Row,
    operation: &Operation,
    own: &Judgement,
    context: &Context<'_>,
) -> String {
    let inputs = list(&operation.inputs);
    let Some(own) = own.row(row.name) else { return String::new() };
    match (own.verdict, &own.deviation) {
        (Verdict::Ok, _) => {
            let reference = judge::judge(context.reference, 1.0);
            let wrong = reference.row(row.name).is_some_and(|row| row.verdict.is_mismatch());
            let who = if wrong {
                "and the reference's is not: the reference is at fault"
            } else {
                "so it inherited the difference from them"
            };
            format!("Recomputed from the candidate's own {inputs} it is right, {who}.")
        }
        (Verdict::Differs, Some(found)) => format!(
            "Recomputed from the candidate's own {inputs} it is wrong by itself, in {} of {} \
             elements.",
            found.outside, found.elements
        ),
        _ => String::new(),
    }
}

fn missing(name: TensorName, context: &Context<'_>) -> String {
    let lacking = |dump: &Dump| dump.get(name).is_none();
    let who = match (lacking(context.reference), lacking(context.candidate)) {
        (true, true) => "both dumps",
        (true, false) => "the reference",
        _ => "the candidate",
    };
    let what_next = if is_given(name) {
        "without it, it is unknown whether both started from the same inputs."
    } else if matches!(name, TensorName::WNext(_) | TensorName::BNext(_)) {
        "every level has its parameters after the step."
    } else {
        "write it, or name it in the header's `not_materialised` if this level never holds it."
    };
    format!("{name} is missing from {who}: {what_next}")
}

fn misplaced(name: TensorName, context: &Context<'_>) -> String {
    let Some(place) = context.misplaced.iter().find(|misplaced| misplaced.name == name) else {
        return format!("{name} comes at the wrong place.");
    };
    let where_it_is =
        place.after.map_or_else(|| "first".to_owned(), |after| format!("right after {after}"));
    format!(
        "{name} has the right values and comes {where_it_is} in the {}: tensors are listed in the \
         order of computation.",
        place.file.name()
    )
}

/// The first wrong tensor, and whether the inputs of its operation agree.
fn first_and_inputs(row: &Row, rows: &[Row], operation: Option<&Operation>) -> String {
    let name = row.name;
    let what = match row.verdict {
        Verdict::Nan | Verdict::Infinite => "that is not finite",
        Verdict::Shape => "whose shape is wrong",
        _ => "that differs",
    };
    let first = format!("{name} is the first tensor {what}.");
    let Some(operation) = operation else {
        return format!(
            "{first} It is given to the step, not computed by it: these two dumps did not start \
             from the same inputs."
        );
    };
    let verdict =
        |name: &TensorName| rows.iter().find(|row| row.name == *name).map(|row| row.verdict);
    let (agreeing, absent): (Vec<TensorName>, Vec<TensorName>) =
        operation.inputs.iter().partition(|input| verdict(input) == Some(Verdict::Ok));
    let Operation { formula, noun, .. } = operation;
    let reading = match (&agreeing[..], &absent[..]) {
        (agreeing, []) => {
            format!("{} {}, so the fault is in {noun}", list(agreeing), agree(agreeing))
        }
        ([], absent) => format!(
            "{} {} not materialised, so the fault is in {noun} or in the operation that makes {}",
            list(absent),
            are(absent),
            list(absent)
        ),
        (agreeing, absent) => format!(
            "{} {} and {} {} not materialised, so the fault is in {noun} or in the operation that makes {}",
            list(agreeing),
            agree(agreeing),
            list(absent),
            are(absent),
            list(absent)
        ),
    };
    format!("{first} {formula}: {reading}.")
}

fn list(names: &[TensorName]) -> String {
    let names: Vec<String> = names.iter().map(ToString::to_string).collect();
    match &names[..] {
        [] => String::new(),
        [one] => one.clone(),
        [rest @ .., last] => format!("{} and {last}", rest.join(", ")),
    }
}

const fn agree(names: &[TensorName]) -> &'static str {
    if names.len() == 1 { "agrees" } else { "agree" }
}

const fn are(names: &[TensorName]) -> &'static str {
    if names.len() == 1 { "is" } else { "are" }
}
