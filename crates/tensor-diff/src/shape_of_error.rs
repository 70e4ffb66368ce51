//! Where in a tensor the wrong elements lie, when their values say nothing.

use crate::compare::{index, within};
use crate::pattern::{Pattern, PatternKind, Suspect, pattern};

/// Comparing each row with each is given up beyond this many elements.
const ROWS_WORTH_MATCHING: usize = 100_000_000;

/// The same rows in another order: the samples of a batch, shuffled.
pub(crate) fn rows_permuted(suspect: &Suspect<'_>) -> Option<Pattern> {
    let &[rows, columns] = suspect.shape else { return None };
    if rows < 2 || columns < 2 || rows.saturating_mul(suspect.candidate.len()) > ROWS_WORTH_MATCHING
    {
        return None;
    }
    let matches = |from: usize, to: usize| {
        (0..columns).all(|column| {
            let r = from * columns + column;
            within(
                suspect.reference[r],
                suspect.candidate[to * columns + column],
                suspect.bounds[r],
            )
        })
    };
    let mut free: Vec<usize> = (0..rows).collect();
    let mut moved = None;
    for to in 0..rows {
        // Itself first, so that only rows that did move are called moved.
        let from = if free.contains(&to) && matches(to, to) {
            to
        } else {
            free.iter().copied().find(|&from| matches(from, to))?
        };
        free.retain(|&row| row != from);
        if from != to {
            moved = moved.or(Some((to, from)));
        }
    }
    let (to, from) = moved?;
    let text =
        format!("it holds the right rows in another order: row {to} is what row {from} should be");
    Some(pattern(PatternKind::RowsPermuted, text))
}

/// Only the rows, or columns, from one on are wrong, and all of them are.
pub(crate) fn last_rows_or_columns(suspect: &Suspect<'_>) -> Option<Pattern> {
    let (rows, columns) = match *suspect.shape {
        [rows] => (rows, 1),
        [rows, columns] => (rows, columns),
        _ => return None,
    };
    let wrong: Vec<bool> = suspect
        .reference
        .iter()
        .zip(suspect.candidate)
        .zip(suspect.bounds)
        .map(|((&r, &c), &bound)| !within(r, c, bound))
        .collect();
    if wrong.iter().filter(|&&wrong| wrong).count() < 2 {
        return None;
    }
    let row = |i: usize| (0..columns).map(move |j| i * columns + j);
    let column = |j: usize| (0..rows).map(move |i| i * columns + j);
    let zero = |i: usize| suspect.candidate[i] == 0.0;
    if let Some(from) = tail(rows, |i| row(i).any(|e| wrong[e])) {
        let zeros = (from..rows).flat_map(row).all(zero);
        let what = if suspect.shape.len() == 1 { "elements" } else { "rows" };
        return Some(last(PatternKind::LastRows, what, from, rows, zeros));
    }
    let from = tail(columns, |j| column(j).any(|e| wrong[e]))?;
    let zeros = (from..columns).flat_map(column).all(zero);
    Some(last(PatternKind::LastColumns, "columns", from, columns, zeros))
}

/// The first of the trailing indices that are all wrong, where all before them are right and there
/// are some.
fn tail(length: usize, wrong: impl Fn(usize) -> bool) -> Option<usize> {
    let first = (0..length).find(|&i| wrong(i)).filter(|&first| first > 0)?;
    (first..length).all(wrong).then_some(first)
}

fn last(kind: PatternKind, what: &str, from: usize, length: usize, zeros: bool) -> Pattern {
    let why = if zeros {
        "they are 0: nobody wrote them"
    } else {
        "a partial tile or batch, or values left over from an earlier one"
    };
    let number = length - from;
    pattern(
        kind,
        format!("only the last {number} of {length} {what} are wrong, from {from} on: {why}"),
    )
}

/// A single element.
pub(crate) fn one_element(suspect: &Suspect<'_>) -> Option<Pattern> {
    if suspect.reference.len() < 2 {
        return None;
    }
    let elements = suspect.reference.iter().zip(suspect.candidate).zip(suspect.bounds).enumerate();
    let mut wrong = elements.filter(|(_, ((r, c), bound))| !within(**r, **c, **bound));
    let ((i, _), None) = (wrong.next()?, wrong.next()) else { return None };
    let at = index(i, suspect.shape);
    let text = format!("only the element {at:?} is wrong");
    Some(pattern(PatternKind::OneElement, text))
}
