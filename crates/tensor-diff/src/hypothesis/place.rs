//! Where the wrong elements of a tensor lie, in words.

/// The rows and columns that the wrong elements lie in.
pub(super) struct Region {
    columns: usize,
    in_rows: Vec<bool>,
    in_columns: Vec<bool>,
}

impl Region {
    pub(super) fn of(wrong: &[usize], shape: &[usize]) -> Self {
        let (rows, columns) = match *shape {
            [rows, columns] => (rows, columns),
            _ => (1, shape.iter().product()),
        };
        let (mut in_rows, mut in_columns) = (vec![false; rows], vec![false; columns]);
        for i in wrong {
            in_rows[i / columns] = true;
            in_columns[i % columns] = true;
        }
        Self { columns, in_rows, in_columns }
    }

    /// Whether the element lies in one of the rows and in one of the columns.
    pub(super) fn holds(&self, i: usize) -> bool {
        self.in_rows[i / self.columns] && self.in_columns[i % self.columns]
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
    fn rows_columns_and_steps_are_named() {
        assert_eq!(describe(&[0, 1, 2, 3], &[2, 2]), "");
        assert_eq!(describe(&[2, 3], &[2, 2]), "in row 1 alone, of 2");
        assert_eq!(describe(&[4, 5, 8], &[3, 4]), "in rows 1 to 2 of 3 and columns 0 to 1 of 4");
        assert_eq!(describe(&[0, 3, 6], &[9]), "in one element in 3 from 0 to 6");
        assert_eq!(describe(&[0, 3, 4], &[9]), "in 3 of 9 elements, from 0 to 4");
    }
}
