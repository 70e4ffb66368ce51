//! Right values at wrong positions: transposed, read from one row only, permuted, or in the place of another tensor's.

use super::super::Pattern;
use super::named;
use crate::finding::{PatternKind, Wrong};
use crate::judge::within;

/// The most elements of a tensor whose rows are compared with each other.
const ROWS_WORTH_MATCHING: usize = 100_000_000;

impl Wrong<'_> {
    /// Whether each element has the value that another element should have, within that element's bound.
    fn is_moved(&self, from: impl Fn(usize) -> usize) -> bool {
        let mut elements = self.candidate.iter().enumerate();
        elements.all(|(i, &c)| within(self.expected[from(i)], c, self.bounds[from(i)]))
    }

    pub(super) fn stored_column_major(&self) -> Option<Pattern> {
        let &[rows, columns] = self.shape else { return None };
        // Element i of the buffer belongs to column i / rows and row i % rows.
        let is = rows > 1 && columns > 1 && self.is_moved(|i| i % rows * columns + i / rows);
        named(is, PatternKind::StoredColumnMajor, || {
            if rows == columns {
                "it is the transpose of what it should be".into()
            } else {
                "its buffer holds the transpose of what it should be: it is stored column-major"
                    .into()
            }
        })
    }

    pub(super) fn row_or_column_zero(&self) -> Option<Pattern> {
        let &[rows, columns] = self.shape else { return None };
        let text = |what| {
            format!("every {what} equals what {what} 0 should be: the {what}'s index is not used")
        };
        named(rows > 1 && self.is_moved(|i| i % columns), PatternKind::RowZero, || text("row"))
            .or_else(|| {
                let is = columns > 1 && self.is_moved(|i| i - i % columns);
                named(is, PatternKind::ColumnZero, || text("column"))
            })
    }

    pub(super) fn equals_other(&self) -> Option<Pattern> {
        // A dump that is judged by itself makes later tensors of the wrong one: that they equal it explains nothing.
        let alone = self.finding.compared.is_none();
        let made_of_it = if alone { self.chain.made_of(self.name) } else { vec![self.name] };
        let mut others = self.finding.context.reference.tensors.iter();
        let other = others.find(|other| {
            !made_of_it.contains(&other.name)
                && other.shape == self.shape
                && self.equals(other.name)
        })?;
        let text = format!("it equals {}: exchanged names or buffers", other.name);
        Some(Pattern::new(PatternKind::EqualsOther, text))
    }

    /// The rows are right, but in another order: the samples of a batch are shuffled.
    pub(super) fn rows_permuted(&self) -> Option<Pattern> {
        let &[rows, columns] = self.shape else { return None };
        if rows < 2
            || columns < 2
            || rows.saturating_mul(self.candidate.len()) > ROWS_WORTH_MATCHING
        {
            return None;
        }
        let matches = |from: usize, to: usize| {
            (0..columns).all(|column| {
                let r = from * columns + column;
                within(self.expected[r], self.candidate[to * columns + column], self.bounds[r])
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
        let text = format!(
            "it holds the right rows in another order: row {to} is what row {from} should be"
        );
        Some(Pattern::new(PatternKind::RowsPermuted, text))
    }
}
