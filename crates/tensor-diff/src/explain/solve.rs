//! Linear least squares, for unknown weights and factors.

/// One equation: the factors of the unknowns, and the result.
pub(super) struct Equation {
    pub(super) factors: Vec<f64>,
    pub(super) result: f64,
}

/// A pivot below this is a rounding error: the unknowns can't be distinguished.
const DEPENDENT: f64 = 1e-11;

/// The unknowns that come closest to solving all equations; `None` if the equations don't determine them.
pub(super) fn least_squares(equations: &[Equation]) -> Option<Vec<f64>> {
    let unknowns = equations.first()?.factors.len();
    if equations.len() < unknowns {
        return None;
    }
    // Columns are scaled to the same length, so that pivots can be compared.
    let mut lengths = vec![0.0; unknowns];
    for equation in equations {
        lengths.iter_mut().zip(&equation.factors).for_each(|(all, x)| *all += x * x);
    }
    let scales: Vec<f64> = lengths.iter().map(|all: &f64| 1.0 / all.sqrt()).collect();
    if scales.iter().any(|scale| !scale.is_finite()) {
        return None;
    }
    let width = unknowns + 1;
    let mut rows = vec![0.0; unknowns * width];
    let mut scaled = vec![0.0; width];
    for equation in equations {
        let factors = equation.factors.iter().zip(&scales).map(|(x, scale)| x * scale);
        scaled.iter_mut().zip(factors.chain([equation.result])).for_each(|(to, x)| *to = x);
        for (row, x) in rows.chunks_exact_mut(width).zip(&scaled) {
            row.iter_mut().zip(&scaled).for_each(|(to, y)| *to += x * y);
        }
    }
    let found = eliminated(&mut rows, unknowns)?;
    Some(found.iter().zip(&scales).map(|(x, scale)| x * scale).collect())
}

/// Solves as many equations as unknowns, with the result after the factors, by elimination with the largest pivot.
fn eliminated(rows: &mut [f64], unknowns: usize) -> Option<Vec<f64>> {
    let width = unknowns + 1;
    for step in 0..unknowns {
        let size = |row: &usize| rows[row * width + step].abs();
        let pivot = (step..unknowns).max_by(|a, b| size(a).total_cmp(&size(b)))?;
        if size(&pivot) < DEPENDENT || !size(&pivot).is_finite() {
            return None;
        }
        for at in 0..width {
            rows.swap(step * width + at, pivot * width + at);
        }
        let (above, below) = rows.split_at_mut((step + 1) * width);
        let lead = &above[step * width..];
        for row in below.chunks_exact_mut(width) {
            let factor = row[step] / lead[step];
            if factor != 0.0 {
                row[step..].iter_mut().zip(&lead[step..]).for_each(|(x, y)| *x -= factor * y);
            }
        }
    }
    let mut found = vec![0.0; unknowns];
    for step in (0..unknowns).rev() {
        let row = &rows[step * width..][..width];
        let known: f64 = (step + 1..unknowns).map(|at| row[at] * found[at]).sum();
        found[step] = (row[unknowns] - known) / row[step];
    }
    found.iter().all(|x| x.is_finite()).then_some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn equation(factors: &[f64], result: f64) -> Equation {
        Equation { factors: factors.to_vec(), result }
    }

    #[test]
    fn three_equations_are_solved() {
        let found = least_squares(&[
            equation(&[0.0, 2.0, 1.0], 7.0),
            equation(&[1.0, 1.0, 1.0], 6.0),
            equation(&[2.0, 0.0, -1.0], -1.0),
        ]);
        for (found, right) in found.unwrap().into_iter().zip([1.0, 2.0, 3.0]) {
            assert!((found - right).abs() < 1e-9, "{found} {right}");
        }
    }

    /// Several numbers are closest to their mean.
    #[test]
    fn overdetermined_equations_are_solved_by_least_squares() {
        let found = least_squares(&[equation(&[1.0], 1.0), equation(&[1.0], 4.0)]).unwrap();
        assert!((found[0] - 2.5).abs() < 1e-12);
    }

    #[test]
    fn underdetermined_equations_have_no_solution() {
        let twice = [equation(&[1.0, 2.0], 1.0), equation(&[2.0, 4.0], 2.0)];
        assert!(least_squares(&twice).is_none());
        assert!(least_squares(&[equation(&[1.0, 0.0], 1.0), equation(&[2.0, 0.0], 2.0)]).is_none());
        assert!(least_squares(&[equation(&[1.0, 1.0], 1.0)]).is_none());
    }
}
