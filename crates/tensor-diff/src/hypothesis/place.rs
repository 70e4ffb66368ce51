//! Where the wrong elements of a tensor lie, in words.

use std::fmt;

use super::TILES;

/// A part of a tensor that holds all its wrong elements.
pub(super) struct Part {
    columns: usize,
    kind: Kind,
    text: String,
}

enum Kind {
    /// Some rows, and some columns.
    Block { in_rows: Vec<bool>, in_columns: Vec<bool> },
    /// Of each so many elements, counted through the rows, some.
    OfEach(Vec<bool>),
}

impl Part {
    /// The smallest parts of each kind, the simplest first.
    pub(super) fn all(wrong: &[usize], shape: &[usize]) -> Vec<Self> {
        let (rows, columns) = match *shape {
            [rows, columns] => (rows, columns),
            _ => (1, shape.iter().product()),
        };
        let (mut in_rows, mut in_columns) = (vec![false; rows], vec![false; columns]);
        for i in wrong {
            in_rows[i / columns] = true;
            in_columns[i % columns] = true;
        }
        let kind = Kind::Block { in_rows, in_columns };
        let mut all = vec![Self { columns, kind, text: describe(wrong, shape) }];
        for tile in TILES.into_iter().filter(|tile| 2 * tile <= rows * columns) {
            let mut of_each = vec![false; tile];
            wrong.iter().for_each(|i| of_each[i % tile] = true);
            let found = of_each.iter().filter(|&&found| found).count();
            // As many places as wrong elements are no pattern.
            if 2 * found <= tile && 2 * found <= wrong.len() {
                let first = of_each.iter().position(|&found| found).unwrap_or(0);
                let text = if found == 1 {
                    format!("in one element in {tile}, from {first} on")
                } else {
                    format!("in {found} of each {tile} elements, from {first} on")
                };
                all.push(Self { columns, kind: Kind::OfEach(of_each), text });
            }
        }
        all
    }

    /// Whether the element lies in it.
    pub(super) fn holds(&self, i: usize) -> bool {
        match &self.kind {
            Kind::Block { in_rows, in_columns } => {
                in_rows[i / self.columns] && in_columns[i % self.columns]
            }
            Kind::OfEach(of_each) => of_each[i % of_each.len()],
        }
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// `in rows 64 to 66`; nothing where they are everywhere.
pub(super) fn describe(wrong: &[usize], shape: &[usize]) -> String {
    let (rows, columns, one_axis) = match *shape {
        [rows, columns] => (rows, columns, false),
        [elements] => (1, elements, true),
        _ => return String::new(),
    };
    let unique = |of: &dyn Fn(usize) -> usize| {
        let mut all: Vec<usize> = wrong.iter().map(|&i| of(i)).collect();
        all.sort_unstable();
        all.dedup();
        all
    };
    let (in_rows, in_columns) = (unique(&|i| i / columns.max(1)), unique(&|i| i % columns.max(1)));
    let mut parts = Vec::new();
    if !one_axis && in_rows.len() < rows {
        parts.push(which("row", &in_rows, rows));
    }
    if in_columns.len() < columns {
        parts.push(which(if one_axis { "element" } else { "column" }, &in_columns, columns));
    }
    if parts.is_empty() { String::new() } else { format!("in {}", parts.join(" and ")) }
}

fn which(what: &str, found: &[usize], all: usize) -> String {
    let (Some(&first), Some(&last)) = (found.first(), found.last()) else { return String::new() };
    if found.len() == 1 {
        return format!("{what} {first} alone, of {all}");
    }
    let step = found[1] - first;
    let regular = found.windows(2).all(|pair| pair[1] - pair[0] == step);
    if regular && step == 1 {
        format!("{what}s {first} to {last} of {all}")
    } else if regular && found.len() > 2 {
        format!("one {what} in {step} from {first} to {last}")
    } else {
        format!("{} of {all} {what}s, from {first} to {last}", found.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lanes_of_every_warp_are_a_part() {
        let wrong: Vec<usize> = (0..320).filter(|i| i % 32 == 31).collect();
        let parts = Part::all(&wrong, &[10, 32]);
        assert_eq!(parts[0].to_string(), "in column 31 alone, of 32");
        let parts = Part::all(&wrong, &[16, 20]);
        let lanes =
            parts.iter().find(|part| part.to_string() == "in one element in 32, from 31 on");
        assert!(lanes.is_some_and(|part| part.holds(63) && !part.holds(62)));
    }

    #[test]
    fn rows_columns_and_steps_are_named() {
        assert_eq!(describe(&[0, 1, 2, 3], &[2, 2]), "");
        assert_eq!(describe(&[2, 3], &[2, 2]), "in row 1 alone, of 2");
        assert_eq!(describe(&[4, 5, 8], &[3, 4]), "in rows 1 to 2 of 3 and columns 0 to 1 of 4");
        assert_eq!(describe(&[0, 3, 6], &[9]), "in one element in 3 from 0 to 6");
        assert_eq!(describe(&[0, 3, 4], &[9]), "in 3 of 9 elements, from 0 to 4");
    }
}
