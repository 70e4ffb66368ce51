//! Descriptions of the positions of a tensor's wrong elements.

use std::fmt;

use tensor::TensorName;

use crate::chain::Chain;
use crate::explain::numbers::{plain, simplest_between};
use crate::finding::{Pattern, PatternKind, Wrong};
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

impl Part {
    /// Whether this part consists of the elements where some tensor has certain values.
    pub(crate) fn is_by_value(&self) -> bool {
        self.text.starts_with("where ") && !self.text.starts_with("where row")
    }

    /// Whether this part contains element `i`.
    pub(crate) fn holds(&self, i: usize) -> bool {
        self.holds[i]
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// The smallest parts of each kind that hold these elements of a tensor, the simplest first: by their positions, by the
/// values of the operation's inputs and of the right result, and by the samples' classes.
pub(crate) fn parts(
    chain: &Chain<'_>,
    name: TensorName,
    expected: &[f64],
    wrong: &[usize],
    shape: &[usize],
) -> Vec<Part> {
    let grid = Grid::new(wrong, shape);
    if wrong.is_empty() || grid.columns == 0 {
        return Vec::new();
    }
    let (text, regular) = grid.describe();
    let block = grid
        .part(text, |i| (0..2).all(|axis| is_among(&grid.axes[axis].wrong, grid.along(axis, i))));
    let mut all: Vec<Part> = (0..2).filter_map(|axis| grid.whole(axis)).collect();
    let mut last = Vec::new();
    (if regular { &mut all } else { &mut last }).push(block);
    all.extend(grid.periods());
    all.extend(grid.relations());
    let groups = (2..=MAX_PERIOD).chain(TILES);
    all.extend(groups.filter_map(|period| grid.of_each(period)));
    all.extend(grid.range());
    let y = chain.get(TensorName::Y).unwrap_or_default();
    let class = |row: &[f64]| row.iter().position(|&y| y == 1.0).unwrap_or(row.len());
    let classes: Vec<usize> = y.chunks(chain.outputs()).map(class).collect();
    all.extend(grid.by_class(&classes));
    let inputs = chain.operation(name).map(|made| made.inputs).unwrap_or_default();
    let named = inputs.iter().filter_map(|&name| Some((name.to_string(), chain.get(name)?)));
    let values = named.chain([("what it should be".to_owned(), expected)]);
    let values = values.filter(|(_, values)| values.len() == expected.len());
    all.extend(values.flat_map(|(name, values)| by_value(wrong, &name, values)));
    all.extend(last);
    // A part that holds every element would not narrow down the place, so it is left out.
    all.retain(|part| part.holds.iter().any(|holds| !holds));
    all
}

/// Describes the wrong elements if they are exactly the last rows, or exactly the last columns.
pub(super) fn last_rows_or_columns(wrong: &Wrong<'_>, outside: &[usize]) -> Option<Pattern> {
    let grid = Grid::new(outside, wrong.shape);
    let last = |(axis, kind)| {
        let Axis { noun, length, wrong: hit } = &grid.axes[axis];
        let from = *hit.first().filter(|&&from| from > 0 && from + hit.len() == *length)?;
        let elements = (0..grid.elements).filter(|&i| grid.along(axis, i) >= from);
        let why = if elements.into_iter().all(|i| wrong.candidate[i] == 0.0) {
            "they are 0: they were never written"
        } else {
            "a partial tile or batch, or values left over from an earlier one"
        };
        let number = length - from;
        let text =
            format!("only the last {number} of {length} {noun}s are wrong, from {from} on: {why}");
        Some(Pattern::new(if grid.one_axis { PatternKind::LastRows } else { kind }, text))
    };
    let kinds = [(0, PatternKind::LastRows), (1, PatternKind::LastColumns)];
    (outside.len() > 1).then(|| kinds.into_iter().find_map(last)).flatten()
}

/// Describes the rows and columns of wrong elements: `in rows 64 to 66`; empty if all rows and columns hold wrong
/// elements.
pub(crate) fn describe(wrong: &[usize], shape: &[usize]) -> String {
    Grid::new(wrong, shape).describe().0
}

/// The rows or the columns of a tensor.
struct Axis {
    noun: &'static str,
    length: usize,
    /// The indices that hold wrong elements.
    wrong: Vec<usize>,
}

impl Axis {
    fn is_partial(&self) -> bool {
        self.wrong.len() < self.length
    }
}

/// The wrong elements of a tensor in rows and columns.
struct Grid<'a> {
    wrong: &'a [usize],
    elements: usize,
    columns: usize,
    /// Rows and columns. The indices of a tensor with a single axis are called elements.
    axes: [Axis; 2],
    one_axis: bool,
}

impl<'a> Grid<'a> {
    fn new(wrong: &'a [usize], shape: &[usize]) -> Self {
        let (rows, columns, noun) = match *shape {
            [rows, columns] => (rows, columns, "column"),
            _ => (1, shape.iter().product(), "element"),
        };
        let width = columns.max(1);
        let (in_rows, in_columns) =
            (wrong.iter().map(|i| i / width), wrong.iter().map(|i| i % width));
        let axes = [
            Axis { noun: "row", length: rows, wrong: unique(in_rows) },
            Axis { noun, length: columns, wrong: unique(in_columns) },
        ];
        Self { wrong, elements: rows * columns, columns, axes, one_axis: shape.len() != 2 }
    }

    /// The row or the column of an element.
    const fn along(&self, axis: usize, i: usize) -> usize {
        if axis == 0 { i / self.columns } else { i % self.columns }
    }

    fn part(&self, text: String, holds: impl Fn(usize) -> bool) -> Part {
        Part { holds: (0..self.elements).map(holds).collect(), text }
    }

    /// The rows and columns with wrong elements in words, and whether they follow a rule.
    fn describe(&self) -> (String, bool) {
        let partial = self.axes.iter().filter(|axis| axis.is_partial());
        let (texts, regular): (Vec<String>, Vec<bool>) = partial.map(which).unzip();
        let text =
            if texts.is_empty() { String::new() } else { format!("in {}", texts.join(" and ")) };
        (text, regular.into_iter().all(|regular| regular))
    }

    /// The part that consists of all rows, or all columns, with wrong elements.
    fn whole(&self, axis: usize) -> Option<Part> {
        let found = &self.axes[axis];
        let (text, regular) = which(found);
        let is_part = regular && found.is_partial() && !self.one_axis;
        let holds = |i| is_among(&found.wrong, self.along(axis, i));
        is_part.then(|| self.part(format!("in {text}"), holds))
    }

    /// Parts whose rows, or columns, or both, repeat with a period.
    fn periods(&self) -> Vec<Part> {
        let mut all = Vec::new();
        let places = |axis: usize, period| unique(self.axes[axis].wrong.iter().map(|i| i % period));
        for (period, axis) in (2..=MAX_PERIOD).flat_map(|period| [(period, 0), (period, 1)]) {
            let Axis { noun, length, wrong } = &self.axes[axis];
            let found = places(axis, period);
            // Half as many places as rows, or more, are no pattern.
            if 2 * period <= *length && 2 * found.len() <= period.min(wrong.len()) {
                let text = format!("in {}", periodic(noun, &found, period));
                all.push(self.part(text, |i| is_among(&found, self.along(axis, i) % period)));
            }
        }
        let [rows, columns] = self.axes.each_ref().map(|axis| axis.length);
        for tile in TILES.into_iter().filter(|&tile| tile < rows.max(columns) && rows > 1) {
            let (r, c) = (places(0, tile), places(1, tile));
            let found = r.len() * c.len();
            if 4 * found <= tile * tile && 2 * found <= self.wrong.len() {
                let (row, column) = (periodic("row", &r, tile), periodic("column", &c, tile));
                all.push(self.part(format!("in {row} and {column} of tiles"), |i| {
                    is_among(&r, self.along(0, i) % tile) && is_among(&c, self.along(1, i) % tile)
                }));
            }
        }
        all
    }

    /// Parts given by a relation between row and column, such as a diagonal.
    fn relations(&self) -> Vec<Part> {
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
        if self.axes.iter().any(|axis| axis.length < 3) || self.wrong.len() < MIN_ELEMENTS {
            return Vec::new();
        }
        let part = |(text, of): (&str, fn(usize, usize) -> bool)| {
            let holds = |i| of(self.along(0, i), self.along(1, i));
            let all = self.wrong.iter().all(|&i| holds(i));
            all.then(|| self.part(text.to_owned(), holds))
        };
        RELATIONS.into_iter().filter_map(part).collect()
    }

    /// The part with the same places in every group of `period` elements, counted across rows.
    fn of_each(&self, period: usize) -> Option<Part> {
        let places = unique(self.wrong.iter().map(|i| i % period));
        let (found, first) = (places.len(), places.first()?);
        // Half as many places as wrong elements, or more, are no pattern.
        if 2 * period > self.elements || 2 * found > period.min(self.wrong.len()) {
            return None;
        }
        let text = match found {
            1 => format!("in one element in {period}, from {first} on"),
            _ => format!("in {found} of each {period} elements, from {first} on"),
        };
        Some(self.part(text, |i| is_among(&places, i % period)))
    }

    /// The range from the first wrong element to the last, counted across rows.
    fn range(&self) -> Option<Part> {
        let elements = self.elements;
        let (&first, &last) = (self.wrong.first()?, self.wrong.last()?);
        let text = match () {
            () if self.wrong.len() < MIN_ELEMENTS => return None,
            () if last + 1 == elements => format!("from element {first} of {elements} on"),
            () if first == 0 => format!("up to element {last} of {elements}"),
            () => format!("in the elements {first} to {last} of {elements}"),
        };
        Some(self.part(text, |i| (first..=last).contains(&i)))
    }

    /// The part that consists of the rows of the samples of one class, or of a few.
    fn by_class(&self, classes: &[usize]) -> Option<Part> {
        if self.one_axis || classes.len() != self.axes[0].length {
            return None;
        }
        let found = unique(self.axes[0].wrong.iter().map(|&row| classes[row]));
        let many = if found.len() > 1 { "es" } else { "" };
        let text = format!("in the rows of class{many} {}", commas(&found));
        let holds = |i| is_among(&found, classes[self.along(0, i)]);
        (found.len() <= 3).then(|| self.part(text, holds))
    }
}

fn is_among(ascending: &[usize], place: usize) -> bool {
    ascending.binary_search(&place).is_ok()
}

/// Joins numbers with commas: `2, 3, 5`.
fn commas(numbers: &[usize]) -> String {
    numbers.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

/// Describes places that repeat with a period: `row 3 of each 4`.
fn periodic(what: &str, places: &[usize], period: usize) -> String {
    match places[..] {
        [0] if period == 2 => format!("the {what}s with an even number"),
        [_] if period == 2 => format!("the {what}s with an odd number"),
        [one] => format!("one {what} in {period}, from {one} on"),
        [first, .., last] if last - first + 1 == places.len() => {
            format!("{what}s {first} to {last} of each {period}")
        }
        _ => format!("{what}s {} of each {period}", commas(places)),
    }
}

/// Parts where the value of a tensor, or its magnitude, is in a range.
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

/// The rows or columns with wrong elements in words, and whether they follow a rule.
fn which(Axis { noun: what, length: all, wrong: found }: &Axis) -> (String, bool) {
    let (first, last) = match found[..] {
        [] => return (String::new(), true),
        [one] => return (format!("{what} {one} alone, of {all}"), true),
        [first, .., last] => (first, last),
    };
    let step = found[1] - first;
    let even = found.windows(2).all(|pair| pair[1] - pair[0] == step);
    match found.len() {
        _ if even && step == 1 => (format!("{what}s {first} to {last} of {all}"), true),
        3.. if even => (format!("one {what} in {step} from {first} to {last}"), true),
        n => (format!("{n} of {all} {what}s, from {first} to {last}"), false),
    }
}
