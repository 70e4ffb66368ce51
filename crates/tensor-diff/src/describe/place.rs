//! Descriptions of the positions of a tensor's wrong elements.

use std::fmt;

use crate::explain::numbers::{plain, simplest_between};
use crate::numeric::{extremes, unique};

/// The longest period of rows, columns or elements that is looked for.
const MAX_PERIOD: usize = 64;
/// Fewer elements than this may be in a range, or on a diagonal, by chance.
const MIN_ELEMENTS: usize = 4;
/// The widths of tiles, chunks and vectors.
pub(crate) const TILES: [usize; 10] = [2, 4, 8, 16, 32, 64, 128, 256, 512, 1024];

/// A part of a tensor that holds all its wrong elements.
pub(crate) struct Part {
    holds: Vec<bool>,
    text: String,
}

/// A tensor's shape as rows and columns.
#[derive(Clone, Copy)]
struct Rows {
    rows: usize,
    columns: usize,
    /// Whether it has a single axis, whose indices are called elements.
    one_axis: bool,
}

impl Rows {
    fn new(shape: &[usize]) -> Self {
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
    /// The smallest parts of each kind, the simplest first. `inputs` are tensors of the same shape, on whose values
    /// the positions may depend; `classes` has the class of each row, if rows are samples.
    pub(crate) fn all(
        wrong: &[usize],
        shape: &[usize],
        inputs: &[(String, &[f64])],
        classes: &[usize],
    ) -> Vec<Self> {
        let rows = Rows::new(shape);
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
        // A part is smaller than the tensor.
        all.retain(|part| part.holds.iter().any(|holds| !holds));
        all
    }

    /// Whether it contains the element.
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
    let in_rows = flags_at(wrong.iter().map(|i| i / columns), rows);
    let in_columns = flags_at(wrong.iter().map(|i| i % columns), columns);
    (0..rows * columns).map(|i| in_rows[i / columns] && in_columns[i % columns]).collect()
}

/// Which of the indices below `length` occur.
fn flags_at(indices: impl Iterator<Item = usize>, length: usize) -> Vec<bool> {
    let mut found = vec![false; length];
    indices.for_each(|i| found[i] = true);
    found
}

fn places(found: &[bool]) -> usize {
    found.iter().filter(|&&found| found).count()
}

/// Whole rows, or whole columns.
fn whole_rows_or_columns(wrong: &[usize], rows: Rows) -> Vec<Part> {
    let Rows { rows: count, columns, one_axis } = rows;
    let in_rows = unique(wrong.iter().map(|i| i / columns));
    let in_columns = unique(wrong.iter().map(|i| i % columns));
    let mut all = Vec::new();
    if !one_axis {
        for (what, found, count) in [("row", in_rows, count), ("column", in_columns, columns)] {
            let (text, regular) = which(what, &found, count);
            if regular && found.len() < count {
                let holds = |r, c| found.contains(if what == "row" { &r } else { &c });
                all.push(rows.part(format!("in {text}"), holds));
            }
        }
    }
    all
}

/// Rows, or columns, or both, with a period.
fn periods(wrong: &[usize], rows: Rows) -> Vec<Part> {
    let columns = rows.columns;
    let of_rows = |period: usize| flags_at(wrong.iter().map(|i| i / columns % period), period);
    let of_columns = |period: usize| flags_at(wrong.iter().map(|i| i % columns % period), period);
    let in_rows = unique(wrong.iter().map(|i| i / columns)).len();
    let in_columns = unique(wrong.iter().map(|i| i % columns)).len();
    // Half as many places as rows, or more, are no pattern.
    let regular = |found: &[bool], seen: usize| 2 * places(found) <= found.len().min(seen);
    let mut all = Vec::new();
    for period in 2..=MAX_PERIOD {
        let (of_rows, of_columns) = (of_rows(period), of_columns(period));
        if 2 * period <= rows.rows && regular(&of_rows, in_rows) {
            let text = format!("in {}", periodic("row", &of_rows));
            all.push(rows.part(text, |row, _| of_rows[row % period]));
        }
        if 2 * period <= columns && regular(&of_columns, in_columns) {
            let text = format!("in {}", periodic(rows.column_word(), &of_columns));
            all.push(rows.part(text, |_, column| of_columns[column % period]));
        }
    }
    for tile in TILES.into_iter().filter(|&tile| tile < rows.rows.max(columns) && rows.rows > 1) {
        let (of_rows, of_columns) = (of_rows(tile), of_columns(tile));
        let places = places(&of_rows) * places(&of_columns);
        if 4 * places <= tile * tile && 2 * places <= wrong.len() {
            let (r, c) = (periodic("row", &of_rows), periodic("column", &of_columns));
            all.push(rows.part(format!("in {r} and {c} of tiles"), |row, column| {
                of_rows[row % tile] && of_columns[column % tile]
            }));
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

/// Elements by a relation of their row and their column.
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
    if rows.one_axis || rows.rows < 3 || rows.columns < 3 || wrong.len() < MIN_ELEMENTS {
        return Vec::new();
    }
    let holds =
        |relation: &&Relation| wrong.iter().all(|i| relation.1(i / rows.columns, i % rows.columns));
    RELATIONS.iter().filter(holds).map(|(text, of)| rows.part((*text).to_owned(), of)).collect()
}

/// Parts at the same places of every group of elements, counted across rows.
fn of_each(wrong: &[usize], rows: Rows) -> Vec<Part> {
    let elements = rows.rows * rows.columns;
    let mut all = Vec::new();
    for period in (2..=MAX_PERIOD).chain(TILES).filter(|period| 2 * period <= elements) {
        let of_each = flags_at(wrong.iter().map(|i| i % period), period);
        let found = places(&of_each);
        // Half as many places as wrong elements, or more, are no pattern.
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

/// From one element to another, counted across rows.
fn range(wrong: &[usize], rows: Rows) -> Option<Part> {
    let elements = rows.rows * rows.columns;
    let (&first, &last) = (wrong.first()?, wrong.last()?);
    if wrong.len() < MIN_ELEMENTS {
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
    let found = unique(wrong.iter().map(|i| classes[i / rows.columns]));
    let listed: Vec<String> = found.iter().map(ToString::to_string).collect();
    let many = if found.len() > 1 { "es" } else { "" };
    let text = format!("in the rows of class{many} {}", listed.join(", "));
    (found.len() <= 3).then(|| rows.part(text, |row, _| found.contains(&classes[row])))
}

/// A range of a tensor's value, or of its magnitude.
fn by_value(wrong: &[usize], name: &str, values: &[f64]) -> Vec<Part> {
    let magnitudes: Vec<f64> = values.iter().map(|value| value.abs()).collect();
    let magnitude = format!("the magnitude of {name}");
    let mut all = Vec::new();
    for (name, values) in [(name, values), (&magnitude[..], &magnitudes[..])] {
        if wrong.len() < MIN_ELEMENTS || wrong.iter().any(|&i| values[i].is_nan()) {
            continue;
        }
        let (low, high) = extremes(wrong.iter().map(|&i| values[i]));
        let (_, below) = extremes(values.iter().copied().filter(|v| *v < low));
        let (above, _) = extremes(values.iter().copied().filter(|v| *v > high));
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

/// `in rows 64 to 66`; empty if all rows and columns hold wrong elements.
pub(crate) fn describe(wrong: &[usize], shape: &[usize]) -> String {
    described(wrong, shape).0
}

/// The text of [`describe`], and whether rows and columns follow a rule.
fn described(wrong: &[usize], shape: &[usize]) -> (String, bool) {
    if shape.is_empty() {
        return (String::new(), true);
    }
    let all = Rows::new(shape);
    let columns = all.columns.max(1);
    let in_rows = unique(wrong.iter().map(|i| i / columns));
    let in_columns = unique(wrong.iter().map(|i| i % columns));
    let axes = [("row", in_rows, all.rows), (all.column_word(), in_columns, all.columns)];
    let partial = axes
        .into_iter()
        .filter(|(what, found, count)| found.len() < *count && !(all.one_axis && *what == "row"));
    let (texts, regular): (Vec<String>, Vec<bool>) =
        partial.map(|(what, found, count)| which(what, &found, count)).unzip();
    let text = if texts.is_empty() { String::new() } else { format!("in {}", texts.join(" and ")) };
    (text, regular.into_iter().all(|regular| regular))
}

/// Some of `all` rows or columns in words, and whether they follow a rule.
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
    fn one_lane_of_every_warp_is_a_part() {
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
        let words = |wrong: &[usize], values: &[(String, &[f64])]| -> Vec<String> {
            Part::all(wrong, &[67, 10], values, &[]).iter().map(ToString::to_string).collect()
        };
        assert_eq!(words(&wrong, &[])[0], "in rows 16 to 31 of each 32");
        let z: Vec<f64> = (0..670).map(|i| ((i * 37) % 101) as f64 / 10.0 - 3.05).collect();
        let wrong: Vec<usize> = (0..670).filter(|&i| z[i] < 0.0).collect();
        let parts = words(&wrong, &[("z1".into(), &z)]);
        assert!(parts.contains(&"where z1 is below 0".to_owned()), "{parts:?}");
        let wrong: Vec<usize> = (0..670).filter(|&i| (i / 10 + i % 10) % 2 == 1).collect();
        assert_eq!(words(&wrong, &[])[0], "where row and column add up to an odd number");
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
