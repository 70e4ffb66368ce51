//! Linear least squares, for unknown weights and factors.

/// A pivot below this is a rounding error: the unknowns can't be distinguished.
const DEPENDENT: f64 = 1e-11;

/// The unknowns that come closest to solving all equations; `None` if the equations don't determine them. An equation
/// is the factors of the unknowns, and then the result.
pub(super) fn least_squares(equations: &[Vec<f64>]) -> Option<Vec<f64>> {
    let width = equations.first()?.len();
    let unknowns = width - 1;
    // Columns are scaled to the same length, so that pivots can be compared.
    let length = |at: usize| equations.iter().map(|row| row[at] * row[at]).sum::<f64>().sqrt();
    let mut scales: Vec<f64> = (0..unknowns).map(|at| 1.0 / length(at)).collect();
    if equations.len() < unknowns || scales.iter().any(|scale| !scale.is_finite()) {
        return None;
    }
    scales.push(1.0);
    let mut rows = vec![vec![0.0; width]; unknowns];
    let mut scaled = vec![0.0; width];
    for equation in equations {
        let all = equation.iter().zip(&scales).map(|(x, scale)| x * scale);
        scaled.iter_mut().zip(all).for_each(|(to, x)| *to = x);
        for (row, x) in rows.iter_mut().zip(&scaled) {
            row.iter_mut().zip(&scaled).for_each(|(to, y)| *to += x * y);
        }
    }
    let found = eliminated(&mut rows)?;
    Some(found.iter().zip(&scales).map(|(x, scale)| x * scale).collect())
}

/// Solves as many equations as unknowns, by elimination with the largest pivot.
fn eliminated(rows: &mut [Vec<f64>]) -> Option<Vec<f64>> {
    let unknowns = rows.len();
    for step in 0..unknowns {
        let size = |row: &usize| rows[*row][step].abs();
        let pivot = (step..unknowns).max_by(|a, b| size(a).total_cmp(&size(b)))?;
        if size(&pivot) < DEPENDENT || !size(&pivot).is_finite() {
            return None;
        }
        rows.swap(step, pivot);
        let (above, below) = rows.split_at_mut(step + 1);
        let lead = &above[step];
        for row in below {
            let factor = row[step] / lead[step];
            if factor != 0.0 {
                row[step..].iter_mut().zip(&lead[step..]).for_each(|(x, y)| *x -= factor * y);
            }
        }
    }
    let mut found = vec![0.0; unknowns];
    for (step, row) in rows.iter().enumerate().rev() {
        let known: f64 = (step + 1..unknowns).map(|at| row[at] * found[at]).sum();
        found[step] = (row[unknowns] - known) / row[step];
    }
    found.iter().all(|x| x.is_finite()).then_some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_equations_are_solved() {
        let rows = [[0.0, 2.0, 1.0, 7.0], [1.0, 1.0, 1.0, 6.0], [2.0, 0.0, -1.0, -1.0]];
        let found = least_squares(&rows.map(Vec::from)).unwrap();
        for (found, right) in found.into_iter().zip([1.0, 2.0, 3.0]) {
            assert!((found - right).abs() < 1e-9, "{found} {right}");
        }
    }

    /// The least-squares solution of one unknown that should equal several numbers is their mean.
    #[test]
    fn overdetermined_equations_are_solved_by_least_squares() {
        let found = least_squares(&[vec![1.0, 1.0], vec![1.0, 4.0]]).unwrap();
        assert!((found[0] - 2.5).abs() < 1e-12);
    }

    #[test]
    fn underdetermined_equations_have_no_solution() {
        assert!(least_squares(&[vec![1.0, 2.0, 1.0], vec![2.0, 4.0, 2.0]]).is_none());
        assert!(least_squares(&[vec![1.0, 0.0, 1.0], vec![2.0, 0.0, 2.0]]).is_none());
        assert!(least_squares(&[vec![1.0, 1.0, 1.0]]).is_none());
    }
}
