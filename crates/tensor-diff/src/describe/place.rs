//! Where the wrong elements of a tensor lie, in words.

use std::fmt;

use crate::explain::numbers::{plain, simplest_between};

/// The longest pattern of rows, or of columns, that comes again and again.
const LONGEST_PERIOD: usize = 64;
/// Fewer elements than this may lie between two values by chance.
const BETWEEN: usize = 4;
/// The widths of tiles, chunks and vectors.
pub(crate) const TILES: [usize; 10] = [2, 4, 8, 16, 32, 64, 128, 256, 512, 1024];

/// A part of a tensor that holds all its wrong elements.
pub(crate) struct Part {
    holds: Vec<bool>,
    text: String,
}

/// A tensor's elements in rows.
#[derive(Clone, Copy)]
struct Rows {
    rows: usize,
    columns: usize,
    /// Its only axis is called elements.
    one_axis: bool,
}

impl Rows {
    fn of(shape: &[usize]) -> Self {
        match *shape {
            [rows, columns] => Self { rows, columns, one_axis: false },
            _ => Self { rows: 1, columns: shape.iter().product(), one_axis: true },
        }
    }

    fn part(self, text: String, holds: impl Fn(usize, usize) -> bool) -> Part {
        let all = 0..self.rows * self.columns;
        Part { holds: all.map(|i| holds(i / self.columns, i % self.columns)).collect(), text }
    }

    const fn column_word(self) -> &'static str {
        if self.one_axis { "element" } else { "column" }
    }
}

impl Part {
    /// The smallest parts of each kind, the simplest first. `inputs` are tensors of the same shape, whose
    /// values may say where it is wrong.
    ///
    /// `classes` is the class of each row, where rows have one.
    pub(crate) fn all(
        wrong: &[usize],
        shape: &[usize],
        inputs: &[(String, &[f64])],
        classes: &[usize],
    ) -> Vec<Self> {
        let rows = Rows::of(shape);
        if wrong.is_empty() || rows.columns == 0 {
            return Vec::new();
        }
        let block = block(wrong, rows);
        let (text, regular) = described(wrong, shape);
        let block = Self { holds: block, text };
        let mut all = whole_rows_or_columns(wrong, rows);
        let mut last = Vec::new();
        (if regular { &mut all } else { &mut last }).push(block);
        all.extend(periods(wrong, rows));
        all.extend(relations(wrong, rows));
        all.extend(of_each(wrong, rows));
        all.extend(range(wrong, rows));
        all.extend(by_class(wrong, rows, classes));
        all.extend(inputs.iter().flat_map(|(name, values)| by_value(wrong, name, values)));
        all.extend(last);
        // What holds everything is no part.
        all.retain(|part| part.holds.iter().any(|holds| !holds));
        all
    }

    /// Whether the element lies in it.
    pub(crate) fn holds(&self, i: usize) -> bool {
        self.holds[i]
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// The rows that hold wrong elements, crossed with the columns that do.
fn block(wrong: &[usize], Rows { rows, columns, .. }: Rows) -> Vec<bool> {
    let (mut in_rows, mut in_columns) = (vec![false; rows], vec![false; columns]);
    for i in wrong {
        in_rows[i / columns] = true;
        in_columns[i % columns] = true;
    }
    (0..rows * columns).map(|i| in_rows[i / columns] && in_columns[i % columns]).collect()
}

/// Some rows, all of each; or some columns.
fn whole_rows_or_columns(wrong: &[usize], rows: Rows) -> Vec<Part> {
    let Rows { rows: count, columns, one_axis } = rows;
    let mut all = Vec::new();
    let mut push = |what, count: usize, of: &dyn Fn(usize) -> usize, by_row: bool| {
        let mut found: Vec<usize> = wrong.iter().map(|&i| of(i)).collect();
        found.sort_unstable();
        found.dedup();
        let (text, regular) = which(what, &found, count);
        if regular && found.len() < count {
            let holds =
                |row: usize, column: usize| found.contains(if by_row { &row } else { &column });
            all.push(rows.part(format!("in {text}"), holds));
        }
    };
    if !one_axis {
        push("row", count, &|i| i / columns, true);
        push("column", columns, &|i| i % columns, false);
    }
    all
}

/// Rows, or columns, or both that come again after this many.
fn periods(wrong: &[usize], rows: Rows) -> Vec<Part> {
    let columns = rows.columns;
    let found = |of: &dyn Fn(usize) -> usize, period: usize| {
        let mut found = vec![false; period];
        wrong.iter().for_each(|&i| found[of(i) % period] = true);
        found
    };
    let row = |i: usize| i / columns;
    let column = |i: usize| i % columns;
    let different = |of: &dyn Fn(usize) -> usize| {
        let mut all: Vec<usize> = wrong.iter().map(|&i| of(i)).collect();
        all.sort_unstable();
        all.dedup();
        all.len()
    };
    let (in_rows, in_columns) = (different(&row), different(&column));
    let regular = |found: &[bool], seen: usize| {
        let places = found.iter().filter(|&&found| found).count();
        // As many places as rows are no pattern.
        2 * places <= found.len() && 2 * places <= seen
    };
    let mut all = Vec::new();
    for period in 2..=LONGEST_PERIOD {
        let of_rows = found(&row, period);
        if 2 * period <= rows.rows && regular(&of_rows, in_rows) {
            let text = format!("in {}", periodic("row", &of_rows));
            all.push(rows.part(text, |row, _| of_rows[row % period]));
        }
        let of_columns = found(&column, period);
        if 2 * period <= columns && regular(&of_columns, in_columns) {
            let text = format!("in {}", periodic(rows.column_word(), &of_columns));
            all.push(rows.part(text, |_, column| of_columns[column % period]));
        }
    }
    for tile in TILES.into_iter().filter(|&tile| tile < rows.rows.max(columns)) {
        let (of_rows, of_columns) = (found(&row, tile), found(&column, tile));
        let places = |found: &[bool]| found.iter().filter(|&&found| found).count();
        let (r, c) = (places(&of_rows), places(&of_columns));
        if 4 * r * c <= tile * tile && 2 * r * c <= wrong.len() && rows.rows > 1 {
            let text = format!(
                "in {} and {} of tiles",
                periodic("row", &of_rows),
                periodic("column", &of_columns)
            );
            all.push(
                rows.part(text, |row, column| of_rows[row % tile] && of_columns[column % tile]),
            );
        }
    }
    all
}

/// `row 3 of each 4`.
fn periodic(what: &str, found: &[bool]) -> String {
    let places: Vec<usize> = (0..found.len()).filter(|&at| found[at]).collect();
    let period = found.len();
    match places[..] {
        [one] if period == 2 => {
            format!("the {what}s with {} number", if one == 0 { "an even" } else { "an odd" })
        }
        [one] => format!("one {what} in {period}, from {one} on"),
        [first, .., last] if last - first + 1 == places.len() => {
            format!("{what}s {first} to {last} of each {period}")
        }
        _ => {
            let places: Vec<String> = places.iter().map(ToString::to_string).collect();
            format!("{what}s {} of each {period}", places.join(", "))
        }
    }
}

/// Elements by how their row and their column compare.
fn relations(wrong: &[usize], rows: Rows) -> Vec<Part> {
    type Relation = (&'static str, fn(usize, usize) -> bool);
    const RELATIONS: [Relation; 8] = [
        ("on the diagonal", |r, c| r == c),
        ("right of the diagonal", |r, c| c > r),
        ("left of the diagonal", |r, c| c < r),
        ("on the diagonal and right of it", |r, c| c >= r),
        ("on the diagonal and left of it", |r, c| c <= r),
        ("where row and column add up to an even number", |r, c| (r + c).is_multiple_of(2)),
        ("where row and column add up to an odd number", |r, c| !(r + c).is_multiple_of(2)),
        ("but on the diagonal", |r, c| r != c),
    ];
    if rows.one_axis || rows.rows < 3 || rows.columns < 3 || wrong.len() < BETWEEN {
        return Vec::new();
    }
    let holds =
        |relation: &&Relation| wrong.iter().all(|i| relation.1(i / rows.columns, i % rows.columns));
    RELATIONS.iter().filter(holds).map(|(text, of)| rows.part((*text).to_owned(), of)).collect()
}

/// Of every group of this many elements, counted through the rows, some.
fn of_each(wrong: &[usize], rows: Rows) -> Vec<Part> {
    let elements = rows.rows * rows.columns;
    let mut all = Vec::new();
    for period in (2..=LONGEST_PERIOD).chain(TILES).filter(|period| 2 * period <= elements) {
        let mut of_each = vec![false; period];
        wrong.iter().for_each(|i| of_each[i % period] = true);
        let found = of_each.iter().filter(|&&found| found).count();
        // As many places as wrong elements are no pattern.
        if 2 * found <= period && 2 * found <= wrong.len() {
            let first = of_each.iter().position(|&found| found).unwrap_or(0);
            let text = if found == 1 {
                format!("in one element in {period}, from {first} on")
            } else {
                format!("in {found} of each {period} elements, from {first} on")
            };
            let holds = (0..elements).map(|i| of_each[i % period]).collect();
            all.push(Part { holds, text });
        }
    }
    all
}

/// From one element to another, counted through the rows.
fn range(wrong: &[usize], rows: Rows) -> Option<Part> {
    let elements = rows.rows * rows.columns;
    let (&first, &last) = (wrong.first()?, wrong.last()?);
    if wrong.len() < BETWEEN {
        return None;
    }
    let text = match () {
        () if last + 1 == elements => format!("from element {first} of {elements} on"),
        () if first == 0 => format!("up to element {last} of {elements}"),
        () => format!("in the elements {first} to {last} of {elements}"),
    };
    Some(Part { holds: (0..elements).map(|i| (first..=last).contains(&i)).collect(), text })
}

/// The rows of the samples of one class, or of a few.
fn by_class(wrong: &[usize], rows: Rows, classes: &[usize]) -> Option<Part> {
    if rows.one_axis || classes.len() != rows.rows {
        return None;
    }
    let mut found: Vec<usize> = wrong.iter().map(|i| classes[i / rows.columns]).collect();
    found.sort_unstable();
    found.dedup();
    let listed: Vec<String> = found.iter().map(ToString::to_string).collect();
    let many = if found.len() > 1 { "es" } else { "" };
    let text = format!("in the rows of class{many} {}", listed.join(", "));
    (found.len() <= 3).then(|| rows.part(text, |row, _| found.contains(&classes[row])))
}

/// Where a tensor's value, or its magnitude, lies in a range.
fn by_value(wrong: &[usize], name: &str, values: &[f64]) -> Vec<Part> {
    let magnitudes: Vec<f64> = values.iter().map(|value| value.abs()).collect();
    let magnitude = format!("the magnitude of {name}");
    let mut all = Vec::new();
    for (name, values) in [(name, values), (&magnitude[..], &magnitudes[..])] {
        if wrong.len() < BETWEEN || wrong.iter().any(|&i| values[i].is_nan()) {
            continue;
        }
        let of_wrong = || wrong.iter().map(|&i| values[i]);
        let (low, high) =
            of_wrong().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(v), h.max(v)));
        let below = values.iter().copied().filter(|v| *v < low).fold(f64::NEG_INFINITY, f64::max);
        let above = values.iter().copied().filter(|v| *v > high).fold(f64::INFINITY, f64::min);
        let from = plain(simplest_between(below.max(2.0 * low - high - 1.0), low));
        let to = plain(simplest_between(high, above.min(2.0 * high - low + 1.0)));
        let text = match (below.is_finite(), above.is_finite()) {
            (false, false) => continue,
            _ if low == high => format!("where {name} is {}", plain(low)),
            (true, false) => format!("where {name} is above {from}"),
            (false, true) => format!("where {name} is below {to}"),
            (true, true) => format!("where {name} is between {from} and {to}"),
        };
        let holds = values.iter().map(|v| (low..=high).contains(v)).collect();
        all.push(Part { holds, text });
    }
    all
}

/// `in rows 64 to 66`; nothing where they are everywhere.
pub(crate) fn describe(wrong: &[usize], shape: &[usize]) -> String {
    described(wrong, shape).0
}

/// The same, and whether rows and columns follow a rule.
fn described(wrong: &[usize], shape: &[usize]) -> (String, bool) {
    if shape.is_empty() {
        return (String::new(), true);
    }
    let Rows { rows, columns, one_axis } = Rows::of(shape);
    let unique = |of: &dyn Fn(usize) -> usize| {
        let mut all: Vec<usize> = wrong.iter().map(|&i| of(i)).collect();
        all.sort_unstable();
        all.dedup();
        all
    };
    let (in_rows, in_columns) = (unique(&|i| i / columns.max(1)), unique(&|i| i % columns.max(1)));
    let mut parts = Vec::new();
    let mut all_regular = true;
    let mut push = |(text, regular): (String, bool)| {
        parts.push(text);
        all_regular &= regular;
    };
    if !one_axis && in_rows.len() < rows {
        push(which("row", &in_rows, rows));
    }
    if in_columns.len() < columns {
        push(which(if one_axis { "element" } else { "column" }, &in_columns, columns));
    }
    let text = if parts.is_empty() { String::new() } else { format!("in {}", parts.join(" and ")) };
    (text, all_regular)
}

fn which(what: &str, found: &[usize], all: usize) -> (String, bool) {
    let (Some(&first), Some(&last)) = (found.first(), found.last()) else {
        return (String::new(), true);
    };
    if found.len() == 1 {
        return (format!("{what} {first} alone, of {all}"), true);
    }
    let step = found[1] - first;
    let regular = found.windows(2).all(|pair| pair[1] - pair[0] == step);
    let text = if regular && step == 1 {
        format!("{what}s {first} to {last} of {all}")
    } else if regular && found.len() > 2 {
        format!("one {what} in {step} from {first} to {last}")
    } else {
        format!("{} of {all} {what}s, from {first} to {last}", found.len())
    };
    (text, regular && (step == 1 || found.len() > 2))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lanes_of_every_warp_are_a_part() {
        let wrong: Vec<usize> = (0..320).filter(|i| i % 32 == 31).collect();
        let parts = Part::all(&wrong, &[10, 32], &[], &[]);
        assert_eq!(parts[0].to_string(), "in column 31 alone, of 32");
        let parts = Part::all(&wrong, &[16, 20], &[], &[]);
        let lanes =
            parts.iter().find(|part| part.to_string() == "in one element in 32, from 31 on");
        assert!(lanes.is_some_and(|part| part.holds(63) && !part.holds(62)));
    }

    #[test]
    fn halves_of_tiles_and_values_of_an_input_are_parts() {
        let wrong: Vec<usize> = (0..670).filter(|i| i / 10 % 32 >= 16).collect();
        let said = |wrong: &[usize], values: &[(String, &[f64])]| -> Vec<String> {
            Part::all(wrong, &[67, 10], values, &[]).iter().map(ToString::to_string).collect()
        };
        assert_eq!(said(&wrong, &[])[0], "in rows 16 to 31 of each 32");
        let z: Vec<f64> = (0..670).map(|i| ((i * 37) % 101) as f64 / 10.0 - 3.05).collect();
        let wrong: Vec<usize> = (0..670).filter(|&i| z[i] < 0.0).collect();
        let parts = said(&wrong, &[("z1".into(), &z)]);
        assert!(parts.contains(&"where z1 is below 0".to_owned()), "{parts:?}");
        let wrong: Vec<usize> = (0..670).filter(|&i| (i / 10 + i % 10) % 2 == 1).collect();
        assert_eq!(said(&wrong, &[])[0], "where row and column add up to an odd number");
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
