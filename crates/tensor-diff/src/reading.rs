//! The first divergence, and its likely reading: which operation made this tensor from tensors
//! that agree, and what the wrong values look like.

use serde::Serialize;
use tensor::{Dump, DumpedTensor, TensorName};

use crate::chain::{self, is_given};
use crate::compare::{Context, Row, Verdict};
use crate::operation::{Operation, operation};
use crate::order::File;
use crate::own::{self, Judgement};
use crate::pattern::{self, Pattern, PatternKind, Suspect};

/// The first tensor, in the order of computation, that is a mismatch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Divergence {
    /// The tensor.
    pub tensor: TensorName,
    /// What is wrong with it.
    pub verdict: Verdict,
    /// The operation that makes it, such as `dw1 = matmul_at_b(dz1, x)`; `None` for what is given
    /// to a training step.
    pub operation: Option<String>,
    /// Which operation made this tensor from tensors that agree, in a sentence or two.
    pub reading: String,
    /// A recognised mistake.
    pub pattern: Option<Pattern>,
}

/// The first operation of a dump that is wrong by itself, read. `before` is the step before it, and
/// `later` are those after it.
pub(crate) fn own_fault(
    row: &Row,
    recomputed: Option<&DumpedTensor>,
    context: &Context<'_>,
    before: Option<&Dump>,
    later: &[Dump],
) -> Divergence {
    let name = row.name;
    let layers = chain::layers(context.candidate);
    let operation = operation(name, layers, context.candidate.header.loss);
    let outside = row.deviation.as_ref().map_or((0, 0), |found| (found.outside, found.elements));
    let reading = match (row.verdict, &operation) {
        (Verdict::Missing, _) => missing(name, context),
        (Verdict::Order, _) => misplaced(name, context),
        (Verdict::Unexpected, _) => {
            format!("{name} is no tensor of this network, which has {layers} layers.")
        }
        (Verdict::NoBound, _) => {
            format!("{name} can't be recomputed: what it is made of is missing or too long.")
        }
        (Verdict::Shape, _) => {
            format!("{name} has not the shape that the network's sizes ask for.")
        }
        (verdict, None) => match before {
            Some(before) if verdict == Verdict::Differs => format!(
                "{name} is not what step {} left: {} of {} elements were changed between the steps.",
                before.header.step, outside.0, outside.1
            ),
            _ => format!("{name}, which is given to the step, is not finite."),
        },
        (verdict, Some(operation)) => {
            let what = match verdict {
                Verdict::Nan | Verdict::Infinite => {
                    "is not finite, and what it is made of is".to_owned()
                }
                _ => format!("is wrong in {} of {} elements", outside.0, outside.1),
            };
            format!(
                "{name} is the first tensor that is wrong by itself. {}: recomputed in float64 from \
                 this dump's own {}, it {what}; the fault is in {}.",
                operation.formula,
                list(&operation.inputs),
                place(operation, context)
            )
        }
    };
    let suspect = || {
        let tensor = context.candidate.get(name)?;
        match row.verdict {
            Verdict::Nan | Verdict::Infinite => {
                pattern::non_finite(File::Candidate.name(), &tensor.data, &tensor.shape)
            }
            Verdict::Differs => pattern::recognise(&Suspect {
                name,
                shape: &tensor.shape,
                reference: &recomputed?.data,
                candidate: &tensor.data,
                bounds: context.bounds.get(&name)?,
                context,
                chain: context.chain.as_ref()?,
                before,
                later,
            }),
            _ => None,
        }
    };
    Divergence {
        tensor: name,
        verdict: row.verdict,
        pattern: suspect(),
        operation: operation.map(|operation| operation.formula),
        reading,
    }
}

/// Where a fault of an operation may sit: in it, or in what makes those of its inputs that nobody
/// can see.
fn place(operation: &Operation, context: &Context<'_>) -> String {
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
            "{} or in what makes {}, which {} not materialised",
            operation.noun,
            list(&unseen),
            are(&unseen)
        )
    }
}

/// The first row that is a mismatch, or that the candidate itself shows to be wrong, read.
pub(crate) fn first_divergence(
    rows: &[Row],
    context: &Context<'_>,
    own: &Judgement,
) -> Option<Divergence> {
    let position = |name| rows.iter().position(|row| row.name == name);
    let row = rows.iter().position(|row| row.verdict.is_mismatch());
    let fault = own.first_fault.as_ref();
    match (row, fault.and_then(|fault| position(fault.tensor))) {
        // Within the bounds of the comparison, which are wider than those of one operation.
        (row, Some(at)) if row.is_none_or(|row| at < row) => fault.cloned(),
        (Some(row), at) => {
            let same = fault.filter(|_| at == Some(row));
            Some(compared(&rows[row], rows, context, own, same))
        }
        (None, _) => None,
    }
}

/// The first row that differs from the reference; `fault` is what the candidate itself says of it.
fn compared(
    row: &Row,
    rows: &[Row],
    context: &Context<'_>,
    own: &Judgement,
    fault: Option<&Divergence>,
) -> Divergence {
    let layers = chain::layers(context.reference).max(chain::layers(context.candidate));
    let loss = context.reference.header.loss.or(context.candidate.header.loss);
    let operation = operation(row.name, layers, loss);
    let reading = match row.verdict {
        Verdict::Missing => missing(row.name, context),
        Verdict::Order => misplaced(row.name, context),
        Verdict::Unexpected => {
            format!("{} is no tensor of this network, which has {layers} layers.", row.name)
        }
        Verdict::NoBound => format!(
            "{} has no bound: the reference lacks what one could be derived from or has no elements \
             there, or a sum is too long for its arithmetic.",
            row.name
        ),
        _ => {
            let said = values(row, rows, operation.as_ref());
            match (operation.as_ref(), row.verdict) {
                (Some(operation), Verdict::Differs) => {
                    format!("{said} {}", itself(row, operation, own, context))
                }
                _ => said,
            }
        }
    };
    let (explained, not): (Vec<Pattern>, Vec<Pattern>) = fault
        .and_then(|fault| fault.pattern.clone())
        .into_iter()
        .chain(likely_pattern(row, context))
        .partition(|pattern| pattern.kind != PatternKind::Unexplained);
    Divergence {
        tensor: row.name,
        verdict: row.verdict,
        operation: operation.map(|operation| operation.formula),
        reading,
        pattern: explained.into_iter().chain(not).next(),
    }
}

/// What the candidate says by itself of a tensor that differs from the reference's.
fn itself(row: &Row, operation: &Operation, own: &Judgement, context: &Context<'_>) -> String {
    let inputs = list(&operation.inputs);
    let Some(own) = own.row(row.name) else { return String::new() };
    match (own.verdict, &own.deviation) {
        (Verdict::Ok, _) => {
            let reference = own::judge(context.reference, 1.0);
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
    let lacking = |dump: &tensor::Dump| dump.get(name).is_none();
    let who = match (lacking(context.reference), lacking(context.candidate)) {
        (true, true) => "both dumps",
        (true, false) => "the reference",
        _ => "the candidate",
    };
    let what_next = if is_given(name) {
        "without it nobody knows that both started from the same inputs."
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

/// The reading of a tensor whose shape or values are wrong.
fn values(row: &Row, rows: &[Row], operation: Option<&Operation>) -> String {
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
            "{} {} not materialised, so the fault is in {noun} or in what makes {}",
            list(absent),
            are(absent),
            list(absent)
        ),
        (agreeing, absent) => format!(
            "{} {} and {} {} not materialised, so the fault is in {noun} or in what makes {}",
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

fn likely_pattern(row: &Row, context: &Context<'_>) -> Option<Pattern> {
    let reference = context.reference.get(row.name)?;
    let candidate = context.candidate.get(row.name)?;
    match row.verdict {
        Verdict::Nan | Verdict::Infinite => {
            [(File::Candidate, candidate), (File::Reference, reference)].into_iter().find_map(
                |(file, tensor)| pattern::non_finite(file.name(), &tensor.data, &tensor.shape),
            )
        }
        Verdict::Shape => wrong_shape(&reference.shape, &candidate.shape),
        Verdict::Differs => pattern::recognise(&Suspect {
            name: row.name,
            shape: &reference.shape,
            reference: &reference.data,
            candidate: &candidate.data,
            bounds: context.bounds.get(&row.name)?,
            context,
            chain: context.chain.as_ref()?,
            before: None,
            later: &[],
        }),
        _ => None,
    }
}

fn wrong_shape(reference: &[usize], candidate: &[usize]) -> Option<Pattern> {
    let both = format!("the reference has {reference:?} and the candidate {candidate:?}");
    let reversed = reference.iter().rev().eq(candidate) && reference != candidate;
    let elements = |shape: &[usize]| shape.iter().product::<usize>();
    if reversed {
        return Some(pattern::pattern(
            PatternKind::AxesExchanged,
            format!("{both}: the axes are exchanged"),
        ));
    }
    let text = if elements(reference) == elements(candidate) {
        format!("{both}: the same number of elements in another shape")
    } else {
        both
    };
    Some(pattern::pattern(PatternKind::OtherShape, text))
}
