//! The elements of a tensor on a page. In a larger tensor, each cell stands for a block of
//! elements and shows the one with the largest error, so that no wrong element is lost.

use page::Packed;
use serde::Serialize;

use super::evidence::Exhibit;

/// The elements that are drawn.
#[derive(Serialize)]
pub(crate) struct Cells {
    rows: usize,
    columns: usize,
    /// The columns of the tensor itself.
    width: usize,
    /// The index of the element that each cell shows; `None` if all elements are shown.
    index: Option<Packed>,
    expected: Option<Packed>,
    candidate: Option<Packed>,
    allowed: Option<Packed>,
    /// Some whole rows of a reduced tensor whose rows are pictures.
    kept: Option<Rows>,
}

/// The rows with the largest errors, which are kept whole.
#[derive(Serialize)]
struct Rows {
    rows: Vec<usize>,
    expected: Option<Packed>,
    candidate: Option<Packed>,
    allowed: Option<Packed>,
}

/// How a tensor was reduced.
pub(crate) struct Reduced {
    /// The cells, rows and columns.
    pub(crate) cells: (usize, usize),
    /// The block that a cell stands for.
    pub(crate) block: (usize, usize),
}

/// At most `most` cells, and how a larger tensor was reduced.
pub(crate) fn cells(
    exhibit: &Exhibit<'_>,
    most: usize,
    pictures: bool,
) -> (Cells, Option<Reduced>) {
    let (rows, columns) = exhibit.rows_and_columns();
    let (mut high, mut wide) = (1, 1);
    while rows.div_ceil(high) * columns.div_ceil(wide) > most.max(1) {
        if rows.div_ceil(high) > columns.div_ceil(wide) { high *= 2 } else { wide *= 2 }
    }
    let (cell_rows, cell_columns) = (rows.div_ceil(high), columns.div_ceil(wide));
    let whole = (high, wide) == (1, 1);
    let shown: Vec<usize> = if whole {
        (0..exhibit.elements()).collect()
    } else {
        let blocks = (0..cell_rows).flat_map(|r| (0..cell_columns).map(move |c| (r, c)));
        blocks
            .filter_map(|(r, c)| {
                let inside = (r * high..((r + 1) * high).min(rows))
                    .flat_map(|i| (c * wide..((c + 1) * wide).min(columns)).map(move |j| (i, j)));
                inside
                    .map(|(i, j)| i * columns + j)
                    .max_by(|&a, &b| weight(exhibit, a).total_cmp_to(weight(exhibit, b)))
            })
            .collect()
    };
    let bounds = |at: &[usize]| {
        let allowed = exhibit.allowed?;
        let each = at.iter().map(|&i| single_bound(allowed[i], exhibit.error(i)));
        Some(page::single(&each.collect::<Vec<f64>>()))
    };
    let pick = |values: Option<&[f64]>, at: &[usize]| {
        values.map(|values| at.iter().map(|&i| values[i]).collect::<Vec<f64>>())
    };
    let kept = (!whole && pictures).then(|| {
        let rows = worst_rows(exhibit, (most / columns.max(1)).max(1));
        let at: Vec<usize> =
            rows.iter().flat_map(|row| row * columns..(row + 1) * columns).collect();
        Rows {
            expected: pick(exhibit.expected, &at).as_deref().map(page::exact),
            candidate: pick(exhibit.candidate, &at).as_deref().map(page::exact),
            allowed: bounds(&at),
            rows,
        }
    });
    let cells = Cells {
        rows: cell_rows,
        columns: cell_columns,
        width: columns,
        expected: pick(exhibit.expected, &shown).as_deref().map(page::exact),
        candidate: pick(exhibit.candidate, &shown).as_deref().map(page::exact),
        allowed: bounds(&shown),
        index: (!whole).then(|| shown.into_iter().collect()),
        kept,
    };
    let reduced = Reduced { cells: (cell_rows, cell_columns), block: (high, wide) };
    (cells, (!whole).then_some(reduced))
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

/// The importance of an element: its error first, then its size.
struct Weight(f64, f64);

impl Weight {
    fn total_cmp_to(&self, other: Self) -> std::cmp::Ordering {
        self.0.total_cmp(&other.0).then(self.1.total_cmp(&other.1))
    }
}

fn weight(exhibit: &Exhibit<'_>, i: usize) -> Weight {
    // NaN is the worst, whatever its sign bit.
    let worst = |value: f64| if value.is_nan() { f64::INFINITY } else { value };
    let value = exhibit.candidate.or(exhibit.expected).map_or(0.0, |values| values[i].abs());
    Weight(exhibit.ratio(i).map_or(0.0, worst), worst(value))
}

/// The rows with the largest errors, in order.
fn worst_rows(exhibit: &Exhibit<'_>, most: usize) -> Vec<usize> {
    let (rows, columns) = exhibit.rows_and_columns();
    let mut all: Vec<(f64, usize)> = (0..rows)
        .map(|row| {
            let worst = (row * columns..(row + 1) * columns).map(|i| weight(exhibit, i).0);
            (worst.fold(0.0, f64::max), row)
        })
        .collect();
    all.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    let mut rows: Vec<usize> = all.into_iter().take(most).map(|(_, row)| row).collect();
    rows.sort_unstable();
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_element_of_each_block_is_kept() {
        let expected = vec![0.0; 6 * 8];
        let allowed = vec![1.0; 6 * 8];
        let mut candidate = vec![0.5; 6 * 8];
        candidate[2 * 8 + 5] = 9.0;
        candidate[5 * 8 + 7] = f64::NAN;
        let exhibit = Exhibit {
            shape: &[6, 8],
            expected: Some(&expected),
            candidate: Some(&candidate),
            allowed: Some(&allowed),
        };
        let (cells, reduced) = cells(&exhibit, 12, true);
        let reduced = reduced.unwrap();
        assert_eq!((reduced.block, reduced.cells), ((2, 2), (3, 4)));
        assert_eq!((cells.rows, cells.columns, cells.width), (3, 4, 8));
        assert_eq!(cells.kept.unwrap().rows, [5]);
        let weights = |i| weight(&exhibit, i).0;
        assert_eq!((weights(21), weights(47)), (9.0, f64::INFINITY));
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
    fn a_small_tensor_is_whole() {
        let values = [1.0, 2.0, 3.0];
        let shape = [3];
        let exhibit =
            Exhibit { shape: &shape, expected: None, candidate: Some(&values), allowed: None };
        let (cells, reduced) = cells(&exhibit, 3, false);
        assert!(reduced.is_none() && cells.index.is_none() && cells.expected.is_none());
        assert_eq!((cells.rows, cells.columns), (1, 3));
    }
}
