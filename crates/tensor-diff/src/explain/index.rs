//! Ways to misread an operand: a wrong index, cursor or stride.

use crate::chain::operation::Axis;
use crate::describe::place::TILES;
use crate::numeric::unique;

/// The indices of the loops of an operation.
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
    /// The loop index of its rows, and that of its columns.
    pub(super) by: [Axis; 2],
}

/// A way to read an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Map {
    Right,
    /// With one of its two indices mistaken.
    Along(Which, Step),
    /// With an offset.
    Shifted(isize),
    /// With rows of this length.
    Stride(usize),
    /// With a stride along a row.
    Spread(usize),
    Transposed,
    /// Each row as a square picture that is turned.
    Picture(Turn),
    FromItsEnd,
    /// With another loop's index.
    By(Which, Axis),
    /// Not at all: a factor of 1.
    LeftOut,
}

/// The index of a row, or that of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Which {
    Row,
    Column,
}

/// A way to turn a square picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    Transposed,
    Left,
    Right,
    UpsideDown,
    Mirrored,
}

impl Turn {
    const ALL: [Self; 5] =
        [Self::Transposed, Self::Left, Self::Right, Self::UpsideDown, Self::Mirrored];

    /// The pixel of the picture that is read in place of `pixel`.
    const fn source(self, pixel: usize, side: usize) -> usize {
        let (row, column, last) = (pixel / side, pixel % side, side - 1);
        let (row, column) = match self {
            Self::Transposed => (column, row),
            Self::Left => (column, last - row),
            Self::Right => (last - column, row),
            Self::UpsideDown => (last - row, column),
            Self::Mirrored => (row, last - column),
        };
        row * side + column
    }

    const fn word(self) -> &'static str {
        match self {
            Self::Transposed => "transposed",
            Self::Left => "turned to the left",
            Self::Right => "turned to the right",
            Self::UpsideDown => "upside down",
            Self::Mirrored => "mirrored",
        }
    }
}

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
    /// `i * m`
    Times(usize),
    /// `i * m % n`
    TimesRound(usize),
    /// `i ^ m`
    Exchanged(usize),
    AtMost(usize),
    AtLeast(usize),
    /// `i + by` for one `i` in `of`, from `from` on.
    OneIn {
        of: usize,
        from: usize,
        by: isize,
    },
}

impl Step {
    const fn apply(self, i: usize, n: usize) -> usize {
        match self {
            Self::Rotated(by) => (i + by) % n,
            Self::Clamped(by) => match i.checked_add_signed(by) {
                Some(i) if i < n => i,
                Some(_) => n - 1,
                None => 0,
            },
            Self::Fixed(at) => at,
            Self::Reversed => n - 1 - i,
            Self::Modulo(m) => i % m,
            Self::Divided(m) => i / m,
            Self::Floored(m) => i / m * m,
            Self::Times(m) => i * m,
            Self::TimesRound(m) => i * m % n,
            Self::Exchanged(m) => i ^ m,
            Self::AtMost(m) => {
                if i > m {
                    m
                } else {
                    i
                }
            }
            Self::AtLeast(m) => {
                if i < m {
                    m
                } else {
                    i
                }
            }
            Self::OneIn { of, from, by } => {
                if i % of == from {
                    Self::Clamped(by).apply(i, n)
                } else {
                    i
                }
            }
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
        let (mut row, mut column) = (at.along(self.by[0]), at.along(self.by[1]));
        let (rows, columns) = (self.rows, self.columns);
        let flat = match map {
            Map::Right => row * columns + column,
            Map::Along(which, step) => {
                match which {
                    Which::Row => row = step.apply(row, rows),
                    Which::Column => column = step.apply(column, columns),
                }
                row * columns + column
            }
            Map::Shifted(by) => match (row * columns + column).checked_add_signed(by) {
                Some(flat) => flat,
                None => return f64::NAN,
            },
            Map::Stride(stride) => row * stride + column,
            Map::Spread(by) => row * columns + column * by,
            Map::Transposed => column * rows + row,
            Map::Picture(turn) => row * columns + turn.source(column, columns.isqrt()),
            Map::FromItsEnd => match (rows * columns).checked_sub(1 + row * columns + column) {
                Some(flat) => flat,
                None => return f64::NAN,
            },
            Map::By(Which::Row, other) => at.along(other) * columns + column,
            Map::By(Which::Column, other) => row * columns + at.along(other),
            Map::LeftOut => return 1.0,
        };
        values.get(flat).copied().unwrap_or(f64::NAN)
    }

    /// The usual ways to misread it: rows that are too long or too short (`sizes` are those of the network), a cursor
    /// that is not advanced, an index that is exchanged, reversed or off by one.
    pub(super) fn usual_maps(&self, sizes: &[(f64, String)]) -> Vec<Map> {
        let (rows, columns) = (self.rows, self.columns);
        let far = columns as isize;
        let mut all = Vec::new();
        if rows > 1 && columns > 1 {
            all.push(Map::Transposed);
        }
        all.extend([1, -1, far, -far].map(Map::Shifted));
        all.push(Map::FromItsEnd);
        let tiled = [4, 8, 16, 32, 64, 128].map(|tile| columns.div_ceil(tile) * tile);
        let strides = sizes.iter().map(|(n, _)| *n as usize);
        let strides = unique(strides.chain([columns.saturating_sub(1), columns + 1]).chain(tiled));
        all.extend(strides.into_iter().filter(|&s| s > 0 && s != columns).map(Map::Stride));
        for (which, n, by) in [(Which::Row, rows, self.by[0]), (Which::Column, columns, self.by[1])]
        {
            let others = [Axis::Row, Axis::Column].into_iter().filter(|&other| other != by);
            if n < 2 || by == Axis::Nothing {
                continue;
            }
            // Tiles, and as many chunks as a few blocks make of the length.
            let tiles = TILES.into_iter().chain((2..=8).map(|chunks| n.div_ceil(chunks)));
            let tiles = unique(tiles.filter(|&tile| 1 < tile && tile < n));
            let steps = [Step::Fixed(0), Step::Reversed, Step::Exchanged(1)].into_iter();
            let steps = steps.chain([Step::Rotated(1), Step::Rotated(n - 1)]);
            let tiled =
                tiles.into_iter().flat_map(|tile| [Step::Modulo(tile), Step::Floored(tile)]);
            all.extend(steps.chain(tiled).map(|step| Map::Along(which, step)));
            all.extend(others.map(|other| Map::By(which, other)));
        }
        all
    }

    /// Every way to misread it, the usual ones first.
    pub(super) fn maps(&self) -> Vec<Map> {
        let (rows, columns) = (self.rows, self.columns);
        let mut all = Vec::new();
        if rows > 1 && columns > 1 {
            all.push(Map::Transposed);
        }
        let axes = [(Which::Row, rows, self.by[0]), (Which::Column, columns, self.by[1])];
        for (which, n, by) in axes {
            if n < 2 || by == Axis::Nothing {
                continue;
            }
            all.extend(steps(n).into_iter().map(|step| Map::Along(which, step)));
            let others = [Axis::Row, Axis::Column, Axis::Term].into_iter();
            all.extend(others.filter(|&other| other != by).map(|other| Map::By(which, other)));
        }
        let side = columns.isqrt();
        if side > 1 && side * side == columns && self.by[1] != Axis::Nothing {
            all.extend(Turn::ALL.map(Map::Picture));
        }
        all.push(Map::FromItsEnd);
        let reach = 2 * columns as isize + 2;
        let far = rows.min(64) as isize * columns as isize;
        let shifts = (1..=reach).chain((1..=far).step_by(columns.max(1)).map(|by| by - 1));
        all.extend(
            shifts.filter(|&by| by > 0).flat_map(|by| [Map::Shifted(by), Map::Shifted(-by)]),
        );
        if rows > 1 {
            let strides = (0..2 * columns + 65).filter(|&stride| stride != columns);
            all.extend(strides.map(Map::Stride));
        }
        if columns > 1 {
            all.extend((2..=columns.min(64)).map(Map::Spread));
        }
        all
    }

    /// The way in words; `axes` names the loops' indices.
    pub(super) fn words(&self, map: Map, axes: &dyn Fn(Axis) -> &'static str) -> String {
        let name = &self.name;
        let (row, n) = if self.rows > 1 { ("row", self.rows) } else { ("element", self.columns) };
        match map {
            Map::Right => name.clone(),
            Map::Along(Which::Row, step) => step_words(name, "row", step, n),
            Map::Along(Which::Column, step) => {
                let what = if self.rows > 1 { "column" } else { "element" };
                step_words(name, what, step, self.columns)
            }
            Map::Shifted(by) => {
                let (columns, far) = (self.columns as isize, by.abs());
                let how = if by > 0 { "too far" } else { "too early" };
                if self.rows > 1 && far % columns == 0 {
                    format!("{name} is read {} {how}", with_count(far / columns, row))
                } else {
                    format!("{name} is read {} {how}", with_count(far, "element"))
                }
            }
            Map::Stride(0) => format!("row 0 of {name} is read for every row"),
            Map::Stride(stride) => {
                format!("{name} is read with rows of {stride} elements, not of {}", self.columns)
            }
            Map::Spread(by) => {
                format!("{name} is read with a stride of {by}: every {by} elements of a row")
            }
            Map::Transposed => format!("{name} is read as if it were stored transposed"),
            Map::Picture(turn) => {
                format!("each row of {name}, a picture, is read {}", turn.word())
            }
            Map::FromItsEnd => format!("{name} is read from its end"),
            Map::LeftOut => format!("{name} is left out of the product"),
            Map::By(which, other) => {
                let right = axes(self.by[if which == Which::Row { 0 } else { 1 }]);
                format!("{name} is indexed by {}, not by {right}", axes(other))
            }
        }
    }
}

fn with_count(n: isize, what: &str) -> String {
    if n == 1 { format!("one {what}") } else { format!("{n} {what}s") }
}

fn step_words(name: &str, what: &str, step: Step, n: usize) -> String {
    match step {
        Step::Rotated(by) if 2 * by == n => {
            format!("{name} is read with the two halves of its {what}s exchanged")
        }
        Step::Rotated(by) if 2 * by < n => format!(
            "{name} is read {} too far, and the first after the last",
            with_count(by as isize, what)
        ),
        Step::Rotated(by) => format!(
            "{name} is read {} too early, and the last before the first",
            with_count((n - by) as isize, what)
        ),
        Step::Clamped(by) if by > 0 => {
            format!(
                "{name} is read {} too far, and the last again at the end",
                with_count(by, what)
            )
        }
        Step::Clamped(by) => format!(
            "{name} is read {} too early, and the first again at the beginning",
            with_count(-by, what)
        ),
        Step::Fixed(at) if at + 1 == n => {
            format!("{what} {at} of {name}, the last, is read for every {what}")
        }
        Step::Fixed(at) => format!("{what} {at} of {name} is read for every {what}"),
        Step::Reversed => format!("the {what}s of {name} are read from the end"),
        Step::Modulo(m) => format!("the first {m} {what}s of {name} are read again and again"),
        Step::Divided(m) => format!("{what} i / {m} of {name} is read in place of {what} i"),
        Step::Floored(m) => format!("of each {m} {what}s of {name} the first is read for all"),
        Step::Times(m) => format!("{what} {m}·i of {name} is read in place of {what} i"),
        Step::TimesRound(m) => {
            format!("{what} {m}·i of {name} is read in place of {what} i, round and round")
        }
        Step::Exchanged(1) => format!("{name} is read with neighbouring {what}s exchanged"),
        Step::Exchanged(m) => format!(
            "{name} is read with {m} {what}s and the next {m} exchanged: {what} i ^ {m} for {what} i"
        ),
        Step::OneIn { of, from, by } => {
            let how = if by > 0 { "too far" } else { "too early" };
            format!("one {what} in {of} of {name}, from {from} on, is read one {what} {how}")
        }
        Step::AtMost(m) => {
            format!("from {what} {m} of {name} on, {what} {m} is read again and again")
        }
        Step::AtLeast(m) => {
            format!("up to {what} {m} of {name}, {what} {m} is read again and again")
        }
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
    all.extend((2..n.min(65)).flat_map(|m| [Step::Times(m), Step::TimesRound(m)]));
    all.extend((2..n.saturating_sub(1)).map(Step::Rotated));
    all.extend((2..n.min(65) as isize).flat_map(|by| [Step::Clamped(by), Step::Clamped(-by)]));
    all.extend((1..n.saturating_sub(1)).flat_map(|m| [Step::AtMost(m), Step::AtLeast(m)]));
    let tiles = [2, 4, 8, 16, 32].into_iter().filter(|of| 2 * of <= n);
    all.extend(
        tiles
            .flat_map(|of| (0..of).map(move |from| (of, from)))
            .flat_map(|(of, from)| [1, -1].map(|by| Step::OneIn { of, from, by })),
    );
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
            (
                Map::Along(Which::Row, Step::Rotated(1)),
                10.0,
                "w is read one row too far, and the first",
            ),
            (Map::Along(Which::Row, Step::Rotated(2)), 2.0, "w is read one row too early"),
            (Map::Along(Which::Column, Step::Rotated(2)), 4.0, "two halves of its columns"),
            (Map::Along(Which::Column, Step::Fixed(3)), 7.0, "column 3 of w, the last, is read"),
            (Map::Along(Which::Column, Step::Modulo(2)), 4.0, "the first 2 columns of w"),
            (Map::Shifted(4), 10.0, "one row too far"),
            (Map::Shifted(-3), 3.0, "3 elements too early"),
            (Map::Stride(5), 7.0, "rows of 5 elements, not of 4"),
            (Map::Transposed, 7.0, "transposed"),
            (Map::FromItsEnd, 5.0, "from its end"),
            (Map::By(Which::Row, Axis::Row), 2.0, "indexed by the sample, not by the unit"),
        ];
        for (map, read, words) in cases {
            assert_eq!(w.read(&values, map, at), read, "{map:?}");
            assert!(w.words(map, &AXES).contains(words), "{}", w.words(map, &AXES));
        }
        assert!([6, -7].iter().all(|&by| w.read(&values, Map::Shifted(by), at).is_nan()));
    }
}
