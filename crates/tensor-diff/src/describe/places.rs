//! The positions of a tensor's wrong elements, if no hypothesis explains them.

use super::place;
use crate::finding::{Pattern, PatternKind, Wrong};
use crate::judge::index;

/// The simplest description of the wrong elements' positions.
pub(crate) fn locate(wrong: &Wrong<'_>) -> Option<Pattern> {
    let outside = wrong.outside();
    last_rows_or_columns(wrong, &outside).or_else(|| match outside[..] {
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
        _ => {
            let at = place::describe(&outside, wrong.shape);
            let text =
                if at.is_empty() { "wrong everywhere".into() } else { format!("wrong {at}") };
            Some(Pattern::new(PatternKind::Unexplained, text))
        }
    })
}

/// Only the rows, or columns, from one on are wrong, and all of them are.
fn last_rows_or_columns(wrong: &Wrong<'_>, outside: &[usize]) -> Option<Pattern> {
    let (rows, columns) = match *wrong.shape {
        [rows] => (rows, 1),
        [rows, columns] => (rows, columns),
        _ => return None,
    };
    if outside.len() < 2 {
        return None;
    }
    let rows_word = if wrong.shape.len() == 1 { "elements" } else { "rows" };
    let row = |i: usize| i / columns;
    let column = |i: usize| i % columns;
    let last = |kind, what: &str, length: usize, of: &dyn Fn(usize) -> usize| {
        let mut hit = vec![false; length];
        outside.iter().for_each(|&i| hit[of(i)] = true);
        // The first of the trailing indices, if all of these are wrong and at least one index before them is right.
        let from = hit.iter().position(|&hit| hit).filter(|&from| from > 0)?;
        if !hit[from..].iter().all(|&hit| hit) {
            return None;
        }
        let elements = 0..wrong.candidate.len();
        let zeros = elements.filter(|&i| of(i) >= from).all(|i| wrong.candidate[i] == 0.0);
        let why = if zeros {
            "they are 0: they were never written"
        } else {
            "a partial tile or batch, or values left over from an earlier one"
        };
        let number = length - from;
        let text =
            format!("only the last {number} of {length} {what} are wrong, from {from} on: {why}");
        Some(Pattern::new(kind, text))
    };
    last(PatternKind::LastRows, rows_word, rows, &row)
        .or_else(|| last(PatternKind::LastColumns, "columns", columns, &column))
}
