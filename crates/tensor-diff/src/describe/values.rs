//! Descriptions of values that are not finite, and of wrong shapes.

use crate::finding::{Finding, Pattern, PatternKind};
use crate::judge::{File, Verdict, index};

/// A description of values that are not finite, or have the wrong shape.
pub(crate) fn describe(finding: &Finding<'_>) -> Option<Pattern> {
    let Finding { row, context, compared, .. } = *finding;
    let candidate = context.candidate.get(row.name)?;
    let sides = [
        Some((File::Candidate, candidate)),
        compared.and(finding.expected).map(|r| (File::Reference, r)),
    ];
    match row.verdict {
        Verdict::Nan | Verdict::Infinite => sides
            .into_iter()
            .flatten()
            .find_map(|(file, tensor)| non_finite(file.name(), &tensor.data, &tensor.shape)),
        Verdict::Shape => {
            compared.and_then(|_| wrong_shape(&finding.expected?.shape, &candidate.shape))
        }
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
fn wrong_shape(reference: &[usize], candidate: &[usize]) -> Option<Pattern> {
    let both = format!("the reference has {reference:?} and the candidate {candidate:?}");
    let reversed = reference.iter().rev().eq(candidate) && reference != candidate;
    let elements = |shape: &[usize]| shape.iter().product::<usize>();
    if reversed {
        return Some(Pattern::new(
            PatternKind::AxesExchanged,
            format!("{both}: the axes are exchanged"),
        ));
    }
    let text = if elements(reference) == elements(candidate) {
        format!("{both}: the same number of elements in another shape")
    } else {
        both
    };
    Some(Pattern::new(PatternKind::OtherShape, text))
}
