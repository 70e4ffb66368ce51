//! Patterns in wrong numbers, and the mistakes that make such patterns.

use crate::case::{Buffer, Data};
use crate::outcome::Wrong;

/// What is there, beside what should be.
pub(super) struct Seen<'a> {
    buffer: &'a Buffer,
    got: Vec<f64>,
    wrong: &'a Wrong,
    /// How far each may be from what is expected.
    bounds: Vec<f64>,
}

impl<'a> Seen<'a> {
    pub(super) fn new(buffer: &'a Buffer, got: &'a Data, wrong: &'a Wrong) -> Self {
        let bounds = buffer.after.iter().flatten().map(|near| near.bound).collect();
        let got = (0..got.len()).map(|index| got.get(index)).collect();
        Self { buffer, got, wrong, bounds }
    }

    /// Whether one number is there where another is expected.
    fn close(&self, index: usize, value: f64) -> bool {
        let got = self.got[index];
        got == value
            || (got - value).abs() <= 4.0 * self.bounds[index] + 1e-5 * value.abs()
            || (got.is_nan() && value.is_nan())
    }

    /// Whether these are the numbers that are there.
    pub(super) fn is(&self, values: &[f64]) -> bool {
        (0..self.got.len()).all(|index| self.close(index, values[index]))
    }

    /// The wrong elements.
    fn wrong(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.got.len()).filter(|&index| self.wrong.wrong[index])
    }

    fn untouched(&self, index: usize) -> bool {
        self.got[index] == self.buffer.before.get(index)
    }

    /// Whether what is there is what belongs `by` elements further on, where that exists.
    fn shifted(&self, by: isize) -> bool {
        let source = |index: usize| {
            let index = index.checked_add_signed(by)?;
            (index < self.got.len()).then(|| self.wrong.expected[index])
        };
        let mut pairs = (0..self.got.len()).filter_map(|index| Some((index, source(index)?)));
        self.got.len() > 2 && pairs.all(|(index, value)| self.close(index, value))
    }

    /// The number that every expected one has been multiplied by.
    fn factor(&self) -> Option<f64> {
        let large = |&index: &usize| self.wrong.expected[index].abs() > 1e3 * self.bounds[index];
        let mut wrong = self.wrong().filter(large);
        let first = wrong.next()?;
        let factor = self.got[first] / self.wrong.expected[first];
        let is = |index: usize| self.close(index, factor * self.wrong.expected[index]);
        (factor.is_finite() && wrong.next().is_some() && (0..self.got.len()).all(is))
            .then_some(factor)
    }
}

/// What the numbers look like, and what usually makes them so.
pub(super) fn pattern(seen: &Seen<'_>) -> Option<String> {
    untouched(seen)
        .or_else(|| no_number(seen))
        .or_else(|| transposed(seen))
        .or_else(|| shifted(seen))
        .or_else(|| scaled(seen))
        .or_else(|| at_an_edge(seen))
}

fn no_number(seen: &Seen<'_>) -> Option<String> {
    if seen.wrong().any(|index| seen.got[index].is_nan()) {
        return Some(
            "NaN is not a number: 0 divided by 0, infinity minus infinity or divided by infinity, a \
             logarithm or a root of something negative, or a value that was never set. From there \
             it goes into everything that is computed with it."
                .into(),
        );
    }
    seen.wrong().any(|index| seen.got[index].is_infinite()).then(|| {
        "Infinity: a division by 0, or something larger than a `float` can hold, such as exp(100)."
            .into()
    })
}

fn untouched(seen: &Seen<'_>) -> Option<String> {
    let name = seen.buffer.name;
    if !seen.wrong().all(|index| seen.untouched(index)) {
        return None;
    }
    let (count, wrong) = (seen.got.len(), seen.wrong().count());
    let first = seen.wrong().next()?;
    // One that is right by having been right before says nothing.
    let done = (0..count).any(|index| !seen.wrong.wrong[index] && !seen.untouched(index));
    Some(if !done {
        format!(
            "{name} is as it was before the launch: no thread has written to it. Is the write \
             missing, does a condition keep every thread away, or does the result stay in a variable?"
        )
    } else if wrong == count - first {
        format!(
            "From element {first} on, {name} is as it was before the launch: no thread has written \
             there. Either a condition sends too many threads home (compare with the size, not with \
             the size of a block), or each thread has to do more than one element."
        )
    } else if first == 0 && seen.wrong().enumerate().all(|(at, index)| at == index) {
        format!(
            "The first {wrong} elements of {name} are as they were before the launch: no thread has \
             written there. Numbers begin with 0 here, of threads, blocks and elements."
        )
    } else {
        format!(
            "Some elements of {name} are as they were before the launch: no thread has written \
             them. Which ones? Every thread needs an element of its own: its number among all \
             threads is blockIdx.x * blockDim.x + threadIdx.x, and along y alike."
        )
    })
}

fn transposed(seen: &Seen<'_>) -> Option<String> {
    let [rows, columns] = seen.buffer.shape[..] else { return None };
    if rows < 2 || columns < 2 {
        return None;
    }
    let expected = &seen.wrong.expected;
    let value = |index: usize| expected[index % rows * columns + index / rows];
    (0..seen.got.len()).all(|index| seen.close(index, value(index))).then(|| {
        format!(
            "The numbers are right and lie transposed: rows and columns have changed places in the \
             index that {} is written at. Row r, column c of a matrix is at r * columns + c.",
            seen.buffer.name
        )
    })
}

fn shifted(seen: &Seen<'_>) -> Option<String> {
    let by = [-1, 1].into_iter().find(|&by| seen.shifted(by))?;
    let (where_, first) = match by {
        1 => ("one place before", "the first"),
        _ => ("one place behind", "the last"),
    };
    Some(format!(
        "The numbers are right and stand {where_} where they belong: an index is off by one. Follow \
         {first} thread: with which index does it read, and with which does it write?"
    ))
}

fn scaled(seen: &Seen<'_>) -> Option<String> {
    let factor = seen.factor()?;
    let whole = factor.round();
    Some(if (factor + 1.0).abs() < 1e-4 {
        "Every number has the wrong sign: a difference was taken the other way around, or a minus is \
         missing."
            .into()
    } else if whole >= 2.0 && (factor - whole).abs() < 1e-4 * whole {
        format!(
            "Every number is {whole} times what it should be: something is added {whole} times, by \
             {whole} threads or in {whole} rounds, or a division by {whole} (a mean!) is missing."
        )
    } else if factor.abs() > 1e-12
        && (1.0 / factor - (1.0 / factor).round()).abs() < 1e-4 / factor.abs()
    {
        let parts = (1.0 / factor).round();
        format!(
            "Every number is one {parts}th of what it should be: something is divided by {parts} that \
             should not be, or of {parts} parts only one is added."
        )
    } else {
        format!("Every number is {factor:.4} times what it should be: which constant is that?")
    })
}

fn at_an_edge(seen: &Seen<'_>) -> Option<String> {
    let (count, wrong) = (seen.got.len(), seen.wrong().count());
    if count < 3 || wrong == count {
        return None;
    }
    let name = seen.buffer.name;
    if let [rows, columns] = seen.buffer.shape[..] {
        let (row, column) = (|i: usize| i / columns, |i: usize| i % columns);
        let edge = match () {
            () if rows > 2 && seen.wrong().all(|i| row(i) == rows - 1) => "the last row",
            () if columns > 2 && seen.wrong().all(|i| column(i) == columns - 1) => {
                "the last column"
            }
            () if rows > 2 && seen.wrong().all(|i| row(i) == 0) => "the first row",
            () if columns > 2 && seen.wrong().all(|i| column(i) == 0) => "the first column",
            () => return inside(seen),
        };
        return Some(format!(
            "Only {edge} of {name} is wrong. What is different there? A loop that ends one too early, \
             a tile that is cut off, or a neighbour that does not exist."
        ));
    }
    let edge = match (seen.wrong.wrong[0], seen.wrong.wrong[count - 1]) {
        (true, true) if wrong == 2 => "the first and the last element are",
        (true, false) if wrong == 1 => "the first element is",
        (false, true) if wrong == 1 => "the last element is",
        _ => return inside(seen),
    };
    Some(format!(
        "Only {edge} wrong. What is different there? A neighbour that does not exist, or a loop that \
         begins or ends one too early."
    ))
}

/// Wrong ones at equal distances.
fn inside(seen: &Seen<'_>) -> Option<String> {
    let wrong: Vec<usize> = seen.wrong().collect();
    let [first, second, ..] = wrong[..] else { return None };
    let step = second - first;
    let even = wrong.windows(2).all(|pair| pair[1] - pair[0] == step);
    (wrong.len() > 2 && step > 1 && even).then(|| {
        format!(
            "Every {step}th element is wrong, from {first} on. What repeats every {step} elements: a \
             block, a row, a warp? The one at its edge is treated differently."
        )
    })
}
