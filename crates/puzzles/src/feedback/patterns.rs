//! Patterns in wrong numbers, and the mistakes that cause them.

use crate::case::{Buffer, Data};
use crate::outcome::Wrong;

/// The computed numbers and the expected ones.
pub(super) struct ComparedNumbers<'a> {
    buffer: &'a Buffer,
    got: Vec<f64>,
    wrong: &'a Wrong,
    /// For each element, the maximum distance from the expected number.
    bounds: Vec<f64>,
}

impl<'a> ComparedNumbers<'a> {
    pub(super) fn new(buffer: &'a Buffer, got: &'a Data, wrong: &'a Wrong) -> Self {
        let bounds = buffer.after.iter().flatten().map(|near| near.bound).collect();
        let got = (0..got.len()).map(|index| got.get(index)).collect();
        Self { buffer, got, wrong, bounds }
    }

    /// Whether the computed number at `index` is this value, within rounding.
    fn close(&self, index: usize, value: f64) -> bool {
        let got = self.got[index];
        got == value
            || (got - value).abs() <= 4.0 * self.bounds[index] + 1e-5 * value.abs()
            || (got.is_nan() && value.is_nan())
    }

    /// Whether the computed numbers are these values, within rounding.
    pub(super) fn is(&self, values: &[f64]) -> bool {
        (0..self.got.len()).all(|index| self.close(index, values[index]))
    }

    /// Indices of the wrong elements.
    fn wrong(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.got.len()).filter(|&index| self.wrong.wrong[index])
    }

    fn untouched(&self, index: usize) -> bool {
        self.got[index] == self.buffer.before.get(index)
    }

    /// Whether each computed number is the expected number of the element `by` positions further
    /// on. Elements for which that position is outside the buffer are ignored.
    fn shifted(&self, by: isize) -> bool {
        let source = |index: usize| {
            let index = index.checked_add_signed(by)?;
            (index < self.got.len()).then(|| self.wrong.expected[index])
        };
        let mut pairs = (0..self.got.len()).filter_map(|index| Some((index, source(index)?)));
        self.got.len() > 2 && pairs.all(|(index, value)| self.close(index, value))
    }

    /// The factor by which all computed numbers differ from the expected ones, if there is one.
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

/// Describes the first pattern that matches, and its usual cause.
pub(super) fn pattern(seen: &ComparedNumbers<'_>) -> Option<String> {
    untouched(seen)
        .or_else(|| no_number(seen))
        .or_else(|| transposed(seen))
        .or_else(|| shifted(seen))
        .or_else(|| scaled(seen))
        .or_else(|| at_an_edge(seen))
}

fn no_number(seen: &ComparedNumbers<'_>) -> Option<String> {
    if seen.wrong().any(|index| seen.got[index].is_nan()) {
        return Some(
            "NaN is not a number. It comes from 0 divided by 0, infinity minus infinity or divided by \
             infinity, the logarithm or root of a negative number, or a value that was never set, \
             and it spreads to everything that is computed from it."
                .into(),
        );
    }
    seen.wrong().any(|index| seen.got[index].is_infinite()).then(|| {
        "Infinity: a division by 0, or something larger than a `float` can hold, such as exp(100)."
            .into()
    })
}

fn untouched(seen: &ComparedNumbers<'_>) -> Option<String> {
    let name = seen.buffer.name;
    if !seen.wrong().all(|index| seen.untouched(index)) {
        return None;
    }
    let (count, wrong) = (seen.got.len(), seen.wrong().count());
    let first = seen.wrong().next()?;
    // Looks for an element that the kernel wrote correctly. An element that was right before the
    // launch doesn't count.
    let done = (0..count).any(|index| !seen.wrong.wrong[index] && !seen.untouched(index));
    Some(if !done {
        format!(
            "{name} is unchanged: no thread has written to it. Is the write missing, does a condition \
             keep every thread away, or does the result stay in a variable?"
        )
    } else if wrong == count - first {
        format!(
            "From element {first} on, {name} is unchanged: no thread has written there. Either a \
             condition excludes too many threads (compare with the size, not with the size of a \
             block), or each thread has to do more than one element."
        )
    } else if first == 0 && seen.wrong().enumerate().all(|(at, index)| at == index) {
        format!(
            "The first {wrong} elements of {name} are unchanged: no thread has written there. Threads, \
             blocks and elements are numbered from 0."
        )
    } else {
        format!(
            "Some elements of {name} are unchanged: no thread has written them. Which ones? Every \
             thread needs its own element: its number among all threads is \
             blockIdx.x * blockDim.x + threadIdx.x, and likewise along y."
        )
    })
}

fn transposed(seen: &ComparedNumbers<'_>) -> Option<String> {
    let [rows, columns] = seen.buffer.shape[..] else { return None };
    if rows < 2 || columns < 2 {
        return None;
    }
    let expected = &seen.wrong.expected;
    let value = |index: usize| expected[index % rows * columns + index / rows];
    (0..seen.got.len()).all(|index| seen.close(index, value(index))).then(|| {
        format!(
            "The numbers are right but transposed: rows and columns have changed places in the index \
             at which {} is written. Row r, column c of a matrix is at r * columns + c.",
            seen.buffer.name
        )
    })
}

fn shifted(seen: &ComparedNumbers<'_>) -> Option<String> {
    let by = [-1, 1].into_iter().find(|&by| seen.shifted(by))?;
    let (where_, first) = match by {
        1 => ("before", "the first"),
        _ => ("after", "the last"),
    };
    Some(format!(
        "The numbers are right but one place {where_} their own: an index is off by one. Follow \
         {first} thread: with which index does it read, and with which does it write?"
    ))
}

fn scaled(seen: &ComparedNumbers<'_>) -> Option<String> {
    let factor = seen.factor()?;
    let whole = factor.round();
    Some(if (factor + 1.0).abs() < 1e-4 {
        "Every number has the wrong sign: the operands of a difference have changed places, or a \
         minus is missing."
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
            "Every number is 1/{parts} of the expected one: something is wrongly divided by {parts}, \
             or only one of {parts} parts is added."
        )
    } else {
        format!("Every number is {factor:.4} times what it should be: which constant is that?")
    })
}

fn at_an_edge(seen: &ComparedNumbers<'_>) -> Option<String> {
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
            () => return regular_distances(seen),
        };
        return Some(format!(
            "Only {edge} of {name} is wrong. Look for a difference there: a loop that ends one too \
             early, a partial tile, or a neighbour that does not exist."
        ));
    }
    let edge = match (seen.wrong.wrong[0], seen.wrong.wrong[count - 1]) {
        (true, true) if wrong == 2 => "the first and the last element are",
        (true, false) if wrong == 1 => "the first element is",
        (false, true) if wrong == 1 => "the last element is",
        _ => return regular_distances(seen),
    };
    Some(format!(
        "Only {edge} wrong. Look for a difference there: a neighbour that does not exist, or a loop \
         that begins or ends one too early."
    ))
}

/// Describes wrong elements that are at equal distances.
fn regular_distances(seen: &ComparedNumbers<'_>) -> Option<String> {
    let wrong: Vec<usize> = seen.wrong().collect();
    let [first, second, ..] = wrong[..] else { return None };
    let step = second - first;
    let even = wrong.windows(2).all(|pair| pair[1] - pair[0] == step);
    (wrong.len() > 2 && step > 1 && even).then(|| {
        format!(
            "One element in {step} is wrong, from {first} on. What repeats every {step} elements: a \
             block, a row, a warp? The element at its edge is treated differently."
        )
    })
}
