//! The tensors of a step with their right values and bounds, and the elements of them that the page shows. In a larger
//! tensor, each cell stands for a block of elements and shows the one with the largest error, so that no wrong element
//! is lost.

use page::Packed;
use serde::Serialize;
use tensor::{Dump, DumpedTensor, TensorName};

use crate::judge::Evidence;

/// One tensor, as the page shows it.
pub(super) struct Exhibit<'e> {
    pub(super) shape: &'e [usize],
    /// The reference's elements, or those recomputed from the candidate's own inputs.
    expected: Option<&'e [f64]>,
    candidate: Option<&'e [f64]>,
    allowed: Option<&'e [f64]>,
}

/// The elements that are drawn.
#[derive(Serialize)]
pub(super) struct Cells {
    rows: usize,
    columns: usize,
    /// The columns of the tensor itself.
    width: usize,
    /// The index of the element that each cell shows; `None` if all elements are shown.
    index: Option<Packed>,
    #[serde(flatten)]
    values: Values,
    /// Some whole rows of a reduced tensor whose rows are pictures.
    kept: Option<Rows>,
}

/// Elements of a tensor.
#[derive(Serialize)]
struct Values {
    expected: Option<Packed>,
    candidate: Option<Packed>,
    allowed: Option<Packed>,
}

/// The rows with the largest errors, which are kept whole.
#[derive(Serialize)]
struct Rows {
    rows: Vec<usize>,
    #[serde(flatten)]
    values: Values,
}

/// The number of powers of two on each side of the bound; larger errors are in the last bar.
const POWERS: i32 = 10;

impl<'e> Exhibit<'e> {
    /// A tensor of a step, if it has elements; without its right values if these have another shape.
    pub(super) fn new(
        name: TensorName,
        dump: &'e Dump,
        (expected, allowed): &'e Evidence<'_>,
    ) -> Option<Self> {
        let expected = expected.iter().find(|tensor| tensor.name == name);
        let candidate = dump.get(name);
        let DumpedTensor { shape, data, .. } = candidate.or(expected)?;
        let expected = expected.filter(|tensor| tensor.shape == *shape);
        let allowed = allowed.get(&name).filter(|allowed| allowed.len() == data.len());
        let exhibit = Self {
            shape,
            expected: expected.map(|tensor| &tensor.data[..]),
            candidate: candidate.map(|tensor| &tensor.data[..]),
            allowed: allowed.map(Vec::as_slice),
        };
        (exhibit.elements() > 0).then_some(exhibit)
    }

    /// The tensor as rows and columns: a vector is one row.
    pub(super) fn rows_and_columns(&self) -> (usize, usize) {
        let columns = self.shape.last().copied().unwrap_or(1);
        (self.elements() / columns.max(1), columns)
    }

    fn elements(&self) -> usize {
        self.shape.iter().product()
    }

    /// `|candidate − expected|` of an element.
    fn error(&self, i: usize) -> Option<f64> {
        Some((self.candidate?[i] - self.expected?[i]).abs())
    }

    /// The error of an element as a multiple of its bound; NaN if it is not finite or has
    /// no bound, and `None` if one side is missing.
    fn ratio(&self, i: usize) -> Option<f64> {
        let error = self.error(i)?;
        let allowed = self.allowed.map_or(f64::NAN, |allowed| allowed[i]);
        Some(if error == 0.0 && allowed >= 0.0 { 0.0 } else { error / allowed })
    }

    /// The importance of an element: its error first, then its size.
    fn weight(&self, i: usize) -> [f64; 2] {
        // NaN is the worst, whatever its sign bit.
        let worst = |value: f64| if value.is_nan() { f64::INFINITY } else { value };
        let value = self.candidate.or(self.expected).map_or(0.0, |values| values[i].abs());
        [self.ratio(i).map_or(0.0, worst), worst(value)]
    }

    /// At most `most` cells; and how a larger tensor was reduced: the number of cells and of the elements of each, down and
    /// across.
    pub(super) fn cells(&self, most: usize, pictures: bool) -> (Cells, Option<[usize; 4]>) {
        let (rows, columns) = self.rows_and_columns();
        let (mut high, mut wide) = (1, 1);
        let cells = |high, wide| (rows.div_ceil(high), columns.div_ceil(wide));
        while let (down, across) = cells(high, wide)
            && down * across > most.max(1)
        {
            if down > across { high *= 2 } else { wide *= 2 }
        }
        let (down, across) = cells(high, wide);
        let is_reduced = (high, wide) != (1, 1);
        let by_weight = |[a, a_size]: [f64; 2], [b, b_size]: [f64; 2]| {
            a.total_cmp(&b).then(a_size.total_cmp(&b_size))
        };
        let worst_of_block = |block: usize| {
            let (top, left) = (block / across * high, block % across * wide);
            (top..(top + high).min(rows))
                .flat_map(|i| (left..(left + wide).min(columns)).map(move |j| i * columns + j))
                .max_by(|&a, &b| by_weight(self.weight(a), self.weight(b)))
        };
        let shown: Vec<usize> = (0..down * across).filter_map(worst_of_block).collect();
        let kept = (is_reduced && pictures).then(|| {
            let rows = self.worst_rows((most / columns.max(1)).max(1));
            let elements = rows.iter().flat_map(|row| row * columns..(row + 1) * columns);
            Rows { values: self.values(&elements.collect::<Vec<_>>()), rows }
        });
        let values = self.values(&shown);
        let index = is_reduced.then(|| shown.into_iter().collect());
        let cells = Cells { rows: down, columns: across, width: columns, index, values, kept };
        (cells, is_reduced.then_some([down, across, high, wide]))
    }

    /// The right and the wrong values and the bounds of the elements with these indices, for the script.
    fn values(&self, at: &[usize]) -> Values {
        let pick = |values: &[f64]| page::exact(&at.iter().map(|&i| values[i]).collect::<Vec<_>>());
        let bound = |allowed: &[f64], i: usize| single_bound(allowed[i], self.error(i));
        Values {
            expected: self.expected.map(pick),
            candidate: self.candidate.map(pick),
            allowed: self.allowed.map(|allowed| {
                page::single(&at.iter().map(|&i| bound(allowed, i)).collect::<Vec<_>>())
            }),
        }
    }

    /// The rows with the largest errors, in order.
    fn worst_rows(&self, most: usize) -> Vec<usize> {
        let (rows, columns) = self.rows_and_columns();
        let worst = |row: usize| {
            let elements = row * columns..(row + 1) * columns;
            elements.map(|i| self.weight(i)[0]).fold(0.0, f64::max)
        };
        let mut all: Vec<(f64, usize)> = (0..rows).map(|row| (worst(row), row)).collect();
        all.sort_by(|a, b| b.0.total_cmp(&a.0));
        let mut rows: Vec<usize> = all.into_iter().take(most).map(|(_, row)| row).collect();
        rows.sort_unstable();
        rows
    }

    /// The number of elements in each bar of a histogram of errors as multiples of their bounds: exactly right, each
    /// power of two up to the bound, each beyond it, not finite. `None` if one side is missing.
    pub(super) fn histogram(&self) -> Option<Vec<usize>> {
        let mut bars = vec![0; 2 * POWERS as usize + 2];
        for i in 0..self.elements() {
            let bar = match self.ratio(i)? {
                0.0 => 0,
                ratio if ratio.is_nan() => bars.len() - 1,
                // (2⁻¹, 2⁰] is the last bar within the bound.
                ratio => {
                    let power = ratio.log2().ceil().clamp(f64::from(1 - POWERS), f64::from(POWERS));
                    (power as i32 + POWERS) as usize
                }
            };
            bars[bar] += 1;
        }
        Some(bars)
    }
}

/// A bound in single precision that stays on the same side of the error: an error that is just within its bound
/// stays within it.
fn single_bound(bound: f64, error: Option<f64>) -> f64 {
    let near = bound as f32;
    let single = match error {
        Some(error) if error <= bound && error > f64::from(near) => near.next_up(),
        Some(error) if error > bound && error <= f64::from(near) => near.next_down(),
        _ => near,
    };
    f64::from(single)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exhibit<'e>(
        shape: &'e [usize],
        [expected, candidate, allowed]: [&'e [f64]; 3],
    ) -> Exhibit<'e> {
        let (expected, candidate, allowed) = (Some(expected), Some(candidate), Some(allowed));
        Exhibit { shape, expected, candidate, allowed }
    }

    #[test]
    fn the_worst_element_of_each_block_is_kept() {
        let mut candidate = vec![0.5; 6 * 8];
        candidate[2 * 8 + 5] = 9.0;
        candidate[5 * 8 + 7] = f64::NAN;
        let exhibit = exhibit(&[6, 8], [&[0.0; 6 * 8], &candidate, &[1.0; 6 * 8]]);
        let (cells, reduced) = exhibit.cells(12, true);
        assert_eq!(reduced, Some([3, 4, 2, 2]));
        assert_eq!((cells.rows, cells.columns, cells.width), (3, 4, 8));
        assert_eq!(cells.kept.unwrap().rows, [5]);
        assert_eq!((exhibit.weight(21)[0], exhibit.weight(47)[0]), (9.0, f64::INFINITY));
        // A small tensor is whole.
        let (cells, reduced) = exhibit.cells(48, true);
        assert!(reduced.is_none() && cells.index.is_none() && cells.kept.is_none());
        assert_eq!((cells.rows, cells.columns), (6, 8));
    }

    #[test]
    fn a_rounded_bound_stays_on_its_side_of_the_error() {
        for (bound, error) in [(0.1, 0.1), (0.3, 0.3), (0.1, 0.1_f64.next_up()), (0.0, 1e-300)] {
            let single = single_bound(bound, Some(error));
            assert_eq!(error <= bound, error <= single, "{bound} {error} {single}");
            assert!((single - bound).abs() <= 1e-7 * bound.max(1e-40));
        }
        assert!(single_bound(f64::NAN, Some(1.0)).is_nan());
    }

    #[test]
    fn each_element_is_in_one_bar() {
        let candidate = [0.0, 1.0, 1.01, 0.5, 1e9, f64::NAN];
        let bars = exhibit(&[6], [&[0.0; 6], &candidate, &[1.0; 6]]).histogram().unwrap();
        // Exactly right, half of the bound, at the bound, just above, far above, not finite.
        let filled: Vec<usize> = (0..bars.len()).filter(|&bar| bars[bar] == 1).collect();
        assert_eq!(filled, [0, 9, 10, 11, 20, 21]);
        assert_eq!(bars.iter().sum::<usize>(), 6);
    }
}
