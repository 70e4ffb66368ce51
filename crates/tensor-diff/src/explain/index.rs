//! Ways to misread an operand: a wrong index, cursor or stride.

use crate::chain::operation::Axis;

/// The values of the loop indices of an operation.
#[derive(Clone, Copy, Debug)]
pub(super) struct At {
    pub(super) row: usize,
    pub(super) column: usize,
    pub(super) term: usize,
}

impl At {
    const fn along(self, axis: Axis) -> usize {
        match axis {
            Axis::Row => self.row,
            Axis::Column => self.column,
            Axis::Term => self.term,
            Axis::Nothing => 0,
        }
    }
}

/// A matrix that an operation reads, stored by rows; a vector is one of a single row.
#[derive(Clone)]
pub(super) struct Operand<'a> {
    pub(super) name: String,
    pub(super) values: &'a [f64],
    pub(super) rows: usize,
    pub(super) columns: usize,
    /// The loop indices that run over the operand's rows and over its columns.
    pub(super) by: [Axis; 2],
}

/// A way to read an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Map {
    Right,
    /// A mistake in the index of the operand's row (0) or column (1).
    Along(usize, Step),
    /// The flat index is off by this number.
    Shifted(isize),
    /// The rows are taken to have this length.
    Stride(usize),
    /// Neighbours in a row are taken to be this far apart.
    Spread(usize),
    Transposed,
    /// Each row is a square picture, and is turned: the index of the turn in `TURNS`.
    Picture(usize),
    FromItsEnd,
    /// Another loop's index takes the place of the operand's row (0) or column (1).
    By(usize, Axis),
    /// Not read at all: 1 takes its place in the product.
    LeftOut,
}

/// A way to turn a picture, in words, and as the pixel that is read: from its row, its column, and the last of both.
type Turn = (&'static str, fn(usize, usize, usize) -> [usize; 2]);

const TURNS: [Turn; 5] = [
    ("transposed", |row, column, _| [column, row]),
    ("turned to the left", |row, column, last| [column, last - row]),
    ("turned to the right", |row, column, last| [last - column, row]),
    ("upside down", |row, column, last| [last - row, column]),
    ("mirrored", |row, column, last| [row, last - column]),
];

/// A mistake in an index `i` below `n`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// `(i + by) % n`
    Rotated(usize),
    /// `i + by`, but neither below 0 nor above the last.
    Clamped(isize),
    Fixed(usize),
    Reversed,
    /// `i % m`
    Modulo(usize),
    /// `i / m`
    Divided(usize),
    /// `i / m * m`
    Floored(usize),
    /// `i * m % n`
    TimesRound(usize),
    /// `i ^ m`
    Exchanged(usize),
    AtMost(usize),
    AtLeast(usize),
    /// `OneIn(of, from, by)`: `i + by`, clamped, if `i % of == from`; otherwise `i`.
    OneIn(usize, usize, isize),
}

impl Step {
    fn apply(self, i: usize, n: usize) -> usize {
        match self {
            Self::Rotated(by) => (i + by) % n,
            Self::Clamped(by) => i.saturating_add_signed(by).min(n - 1),
            Self::Fixed(at) => at,
            Self::Reversed => n - 1 - i,
            Self::Modulo(m) => i % m,
            Self::Divided(m) => i / m,
            Self::Floored(m) => i / m * m,
            Self::TimesRound(m) => i * m % n,
            Self::Exchanged(m) => i ^ m,
            Self::AtMost(m) => i.min(m),
            Self::AtLeast(m) => i.max(m),
            Self::OneIn(of, from, by) if i % of == from => Self::Clamped(by).apply(i, n),
            Self::OneIn(..) => i,
        }
    }
}

impl Operand<'_> {
    /// Whether this is the tensor of that name.
    pub(super) fn is(&self, name: &str) -> bool {
        self.name.trim_start_matches("the mask ") == name
    }

    /// The element of `values`, stored like this operand, that is read at these indices; NaN if the index is out of
    /// range.
    pub(super) fn read(&self, values: &[f64], map: Map, at: At) -> f64 {
        let (rows, columns) = (self.rows, self.columns);
        let mut index = self.by.map(|axis| at.along(axis));
        let [row, column] = index;
        let flat = match map {
            Map::LeftOut => return 1.0,
            Map::Right => Some(row * columns + column),
            Map::Along(which, step) => {
                index[which] = step.apply(index[which], [rows, columns][which]);
                Some(index[0] * columns + index[1])
            }
            Map::By(which, other) => {
                index[which] = at.along(other);
                Some(index[0] * columns + index[1])
            }
            Map::Shifted(by) => (row * columns + column).checked_add_signed(by),
            Map::Stride(stride) => Some(row * stride + column),
            Map::Spread(by) => Some(row * columns + column * by),
            Map::Transposed => Some(column * rows + row),
            Map::Picture(turn) => {
                let side = columns.isqrt();
                let [down, across] = TURNS[turn].1(column / side, column % side, side - 1);
                Some(row * columns + down * side + across)
            }
            Map::FromItsEnd => (rows * columns).checked_sub(1 + row * columns + column),
        };
        flat.and_then(|flat| values.get(flat)).copied().unwrap_or(f64::NAN)
    }

    /// Every way to misread this operand, the usual ones first.
    pub(super) fn maps(&self) -> Vec<Map> {
        let (rows, columns) = (self.rows, self.columns);
        let mut all = Vec::new();
        if rows > 1 && columns > 1 {
            all.push(Map::Transposed);
        }
        // A cursor that is not advanced, or that starts too late.
        let row = columns as isize;
        all.extend([1, -1, row, -row].map(Map::Shifted));
        all.push(Map::FromItsEnd);
        for (which, n) in [rows, columns].into_iter().enumerate() {
            if n < 2 || self.by[which] == Axis::Nothing {
                continue;
            }
            all.extend(steps(n).into_iter().map(|step| Map::Along(which, step)));
            let others = [Axis::Row, Axis::Column, Axis::Term].into_iter();
            all.extend(others.filter(|&o| o != self.by[which]).map(|o| Map::By(which, o)));
        }
        let side = columns.isqrt();
        if side > 1 && side * side == columns && self.by[1] != Axis::Nothing {
            all.extend((0..TURNS.len()).map(Map::Picture));
        }
        let far = rows.min(64) * columns;
        let shifts = (1..2 * columns + 3).chain((columns..far).step_by(columns.max(1)));
        all.extend(shifts.flat_map(|by| [by as isize, -(by as isize)]).map(Map::Shifted));
        if rows > 1 {
            let strides = (1..2 * columns + 65).filter(|&stride| stride != columns);
            all.extend(strides.map(Map::Stride));
        }
        if columns > 1 {
            all.extend((2..=columns.min(64)).map(Map::Spread));
        }
        all
    }

    /// The words for a way to misread this operand; `axes` names the loop indices.
    pub(super) fn words(&self, map: Map, axes: &dyn Fn(Axis) -> &'static str) -> String {
        let (name, columns) = (&self.name, self.columns);
        let (row, column) = if self.rows > 1 { ("row", "column") } else { ("element", "element") };
        match map {
            Map::Right => name.clone(),
            Map::Along(0, step) => step_words(name, "row", step, self.rows),
            Map::Along(_, step) => step_words(name, column, step, columns),
            Map::Shifted(by) => {
                let (far, how) = (by.unsigned_abs(), if by > 0 { "too far" } else { "too early" });
                let whole_rows = self.rows > 1 && far % columns == 0;
                let (far, what) = if whole_rows { (far / columns, row) } else { (far, "element") };
                format!("{name} is read {} {how}", with_count(far, what))
            }
            Map::Stride(stride) => {
                format!("{name} is read with rows of {stride} elements, not of {columns}")
            }
            Map::Spread(by) => {
                format!("{name} is read with a stride of {by}: every {by} elements of a row")
            }
            Map::Transposed => format!("{name} is read as if it were stored transposed"),
            Map::Picture(turn) => {
                format!("each row of {name}, a picture, is read {}", TURNS[turn].0)
            }
            Map::FromItsEnd => format!("{name} is read from its end"),
            Map::LeftOut => format!("{name} is left out of the product"),
            Map::By(which, other) => {
                let right = axes(self.by[which]);
                format!("{name} is indexed by {}, not by {right}", axes(other))
            }
        }
    }
}

fn with_count(n: usize, what: &str) -> String {
    if n == 1 { format!("one {what}") } else { format!("{n} {what}s") }
}

fn step_words(name: &str, what: &str, step: Step, n: usize) -> String {
    let read = format!("{name} is read");
    let again = "is read again and again";
    match step {
        Step::Rotated(by) if 2 * by == n => {
            format!("{read} with the two halves of its {what}s exchanged")
        }
        Step::Rotated(by) if 2 * by < n => {
            format!("{read} {} too far, and the first after the last", with_count(by, what))
        }
        Step::Rotated(by) => {
            format!("{read} {} too early, and the last before the first", with_count(n - by, what))
        }
        Step::Clamped(by) => {
            let (how, end) = if by > 0 {
                ("too far", "the last again at the end")
            } else {
                ("too early", "the first again at the beginning")
            };
            format!("{read} {} {how}, and {end}", with_count(by.unsigned_abs(), what))
        }
        Step::Fixed(at) if at + 1 == n => {
            format!("{what} {at} of {name}, the last, is read for every {what}")
        }
        Step::Fixed(at) => format!("{what} {at} of {name} is read for every {what}"),
        Step::Reversed => format!("the {what}s of {name} are read from the end"),
        Step::Modulo(m) => format!("the first {m} {what}s of {name} are read again and again"),
        Step::Divided(m) => format!("{what} i / {m} of {read} in place of {what} i"),
        Step::Floored(m) => format!("of each {m} {what}s of {name} the first is read for all"),
        Step::TimesRound(m) => {
            format!("{what} {m}·i of {read} in place of {what} i, round and round")
        }
        Step::Exchanged(1) => format!("{read} with neighbouring {what}s exchanged"),
        Step::Exchanged(m) => format!(
            "{read} with {m} {what}s and the next {m} exchanged: {what} i ^ {m} for {what} i"
        ),
        Step::OneIn(of, from, by) => {
            let how = if by > 0 { "too far" } else { "too early" };
            format!("one {what} in {of} of {name}, from {from} on, is read one {what} {how}")
        }
        Step::AtMost(m) => format!("from {what} {m} of {name} on, {what} {m} {again}"),
        Step::AtLeast(m) => format!("up to {what} {m} of {name}, {what} {m} {again}"),
    }
}

/// Every mistake in an index below `n`.
fn steps(n: usize) -> Vec<Step> {
    let mut all = vec![Step::Reversed, Step::Rotated(1), Step::Rotated(n - 1)];
    all.extend((0..n).map(Step::Fixed));
    all.extend([1, -1].map(Step::Clamped));
    let powers = (0..10).map(|bits| 1 << bits);
    all.extend(powers.take_while(|&m| m < n).map(Step::Exchanged));
    all.extend((2..n).map(Step::Modulo));
    all.extend((2..=n).map(Step::Divided));
    all.extend((2..=n).map(Step::Floored));
    all.extend((2..n.min(65)).map(Step::TimesRound));
    all.extend((2..n.saturating_sub(1)).map(Step::Rotated));
    all.extend((2..n.min(65) as isize).flat_map(|by| [by, -by]).map(Step::Clamped));
    all.extend((1..n.saturating_sub(1)).flat_map(|m| [Step::AtMost(m), Step::AtLeast(m)]));
    for of in [2, 4, 8, 16, 32].into_iter().filter(|of| 2 * of <= n) {
        let starts = (0..of).flat_map(|from| [(from, 1), (from, -1)]);
        all.extend(starts.map(|(from, by)| Step::OneIn(of, from, by)));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    const AXES: fn(Axis) -> &'static str = |axis| match axis {
        Axis::Row => "the sample",
        Axis::Column => "the unit",
        Axis::Term => "the input",
        Axis::Nothing => "nothing",
    };

    #[test]
    fn every_way_to_misread_matches_its_words() {
        let values: Vec<f64> = (0..12).map(f64::from).collect();
        let w = Operand {
            name: "w".into(),
            values: &values,
            rows: 3,
            columns: 4,
            by: [Axis::Column, Axis::Term],
        };
        let at = At { row: 0, column: 1, term: 2 };
        let cases = [
            (Map::Right, 6.0, "w"),
            (Map::Along(0, Step::Rotated(1)), 10.0, "w is read one row too far, and the first"),
            (Map::Along(0, Step::Rotated(2)), 2.0, "w is read one row too early"),
            (Map::Along(1, Step::Rotated(2)), 4.0, "two halves of its columns"),
            (Map::Along(1, Step::Fixed(3)), 7.0, "column 3 of w, the last, is read"),
            (Map::Along(1, Step::Modulo(2)), 4.0, "the first 2 columns of w"),
            (Map::Shifted(4), 10.0, "one row too far"),
            (Map::Shifted(-3), 3.0, "3 elements too early"),
            (Map::Stride(5), 7.0, "rows of 5 elements, not of 4"),
            (Map::Transposed, 7.0, "transposed"),
            (Map::FromItsEnd, 5.0, "from its end"),
            (Map::By(0, Axis::Row), 2.0, "indexed by the sample, not by the unit"),
        ];
        for (map, read, words) in cases {
            assert_eq!(w.read(&values, map, at), read, "{map:?}");
            assert!(w.words(map, &AXES).contains(words), "{}", w.words(map, &AXES));
        }
        assert!([6, -7].iter().all(|&by| w.read(&values, Map::Shifted(by), at).is_nan()));
    }
}
