//! The second pass, the description of the first wrong tensor: the operation that made it from tensors that agree
//! (`reading`), its values that aren't finite, its wrong shape, or the positions of its wrong elements (`place`).

pub(crate) mod place;
pub(crate) mod reading;

use std::fmt::Display;

use crate::finding::{Finding, Pattern, PatternKind, Wrong};
use crate::judge::{Verdict, index};
use crate::numeric::extremes;
use place::Part;

/// Joins items for a sentence: `x, w1 and b1`.
pub(crate) fn list(items: impl IntoIterator<Item = impl Display>) -> String {
    joined(items, "and")
}

/// Joins items for a sentence, with `word` before the last item: `x, w1 or b1`.
pub(crate) fn joined(items: impl IntoIterator<Item = impl Display>, word: &str) -> String {
    let items: Vec<String> = items.into_iter().map(|item| item.to_string()).collect();
    match &items[..] {
        [rest @ .., last] if !rest.is_empty() => format!("{} {word} {last}", rest.join(", ")),
        _ => items.concat(),
    }
}

/// A description of values that are not finite, or have the wrong shape.
pub(crate) fn values(finding: &Finding<'_>) -> Option<Pattern> {
    let candidate = finding.context.candidate.get(finding.row.name)?;
    let reference = finding.compared.and(finding.expected);
    match finding.row.verdict {
        Verdict::Nan | Verdict::Infinite => {
            let sides = [("candidate", Some(candidate)), ("reference", reference)];
            sides.into_iter().find_map(|(file, tensor)| {
                tensor.and_then(|tensor| non_finite(file, &tensor.data, &tensor.shape))
            })
        }
        Verdict::Shape => Some(wrong_shape(&reference?.shape, &candidate.shape)),
        _ => None,
    }
}

/// The first element that isn't finite.
fn non_finite(file: &str, data: &[f64], shape: &[usize]) -> Option<Pattern> {
    // NaN before infinity, because operations on infinities make NaN.
    let first = data.iter().position(|value| value.is_nan());
    let first = first.or_else(|| data.iter().position(|value| value.is_infinite()))?;
    let count = data.iter().filter(|value| !value.is_finite()).count();
    let value = match data[first] {
        value if value.is_nan() => "NaN",
        value if value > 0.0 => "infinity",
        _ => "-infinity",
    };
    let at = index(first, shape);
    let text = match (count, data.len()) {
        (_, 1) => format!("the {file} holds {value}"),
        (1, _) => format!("the {file} holds {value} only at {at:?}"),
        (count, all) => format!(
            "the {file} holds {value} at {at:?}, and {count} of {all} elements are not finite"
        ),
    };
    Some(Pattern::new(PatternKind::NonFinite, text))
}

/// The two shapes, and how they are related.
fn wrong_shape(reference: &[usize], candidate: &[usize]) -> Pattern {
    let elements = |shape: &[usize]| shape.iter().product::<usize>();
    let (kind, how) = if reference.iter().rev().eq(candidate) && reference != candidate {
        (PatternKind::AxesExchanged, ": the axes are exchanged")
    } else if elements(reference) == elements(candidate) {
        (PatternKind::OtherShape, ": the same number of elements in another shape")
    } else {
        (PatternKind::OtherShape, "")
    };
    let text = format!("the reference has {reference:?} and the candidate {candidate:?}{how}");
    Pattern::new(kind, text)
}

/// The simplest description of the wrong elements' positions.
pub(crate) fn places(wrong: &Wrong<'_>) -> Option<Pattern> {
    let outside = wrong.outside();
    place::last_rows_or_columns(wrong, &outside).or_else(|| match outside[..] {
        [i] if wrong.candidate.len() > 1 => {
            let text = format!("only the element {:?} is wrong", index(i, wrong.shape));
            Some(Pattern::new(PatternKind::OneElement, text))
        }
        [i] => {
            let (held, expected) = (wrong.candidate[i], wrong.expected[i]);
            let text = format!(
                "it is {held:.6} where {expected:.6} is right, {:.6} times as much",
                held / expected
            );
            Some(Pattern::new(PatternKind::Unexplained, text))
        }
        [] => None,
        _ => Some(Pattern::new(PatternKind::Unexplained, scattered(wrong, &outside))),
    })
}

/// Describes several wrong elements: by a rule that selects exactly these, otherwise by their rows and columns,
/// otherwise by their number and how far off they are.
fn scattered(wrong: &Wrong<'_>, outside: &[usize]) -> String {
    let all = wrong.candidate.len();
    let parts = place::parts(wrong.chain, wrong.name, wrong.expected, outside, wrong.shape);
    let is_exact =
        |part: &&Part| (0..all).all(|i| part.holds(i) == outside.binary_search(&i).is_ok());
    let at = place::describe(outside, wrong.shape);
    match parts.iter().find(is_exact) {
        Some(part) if at.is_empty() => format!("wrong just {part}"),
        _ if !at.is_empty() => format!("wrong {at}"),
        _ => {
            let (low, high) =
                extremes(outside.iter().map(|&i| wrong.candidate[i] / wrong.expected[i]));
            let how = if low.is_finite() && high.is_finite() {
                format!(", from {low:.6} to {high:.6} times what it should be")
            } else {
                String::new()
            };
            let how_many = match outside.len() {
                n if n == all => "everywhere".to_owned(),
                n => format!("in {n} of {all} elements, in all rows and columns"),
            };
            format!("wrong {how_many}{how}")
        }
    }
}
