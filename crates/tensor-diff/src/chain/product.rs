//! The three matrix products of a training step, as one: `out[i, j] = Σ_k left[i, k]·right[j, k]`.

/// One factor of a product: its elements, the bounds of their errors, and the position of element `[outer, k]` in
/// memory.
#[derive(Clone, Copy)]
pub(crate) struct Factor<'a> {
    pub(crate) values: &'a [f64],
    /// `None` if the factor is exact.
    pub(crate) errors: Option<&'a [f64]>,
    /// The distance in memory between the elements of adjacent rows (or columns) of the result.
    pub(crate) outer: usize,
    /// The distance in memory between adjacent terms.
    pub(crate) inner: usize,
}

impl<'a> Factor<'a> {
    /// 1 in every term.
    pub(crate) const ONE: Self = Self { values: &[1.0], errors: None, outer: 0, inner: 0 };

    /// A row-major matrix whose last axis, `[outer, k]`, is summed over.
    pub(crate) const fn by_rows(values: &'a [f64], errors: Option<&'a [f64]>, k: usize) -> Self {
        Self { values, errors, outer: k, inner: 1 }
    }

    /// A row-major matrix whose first axis, `[k, outer]`, is summed over.
    pub(crate) const fn by_columns(
        values: &'a [f64],
        errors: Option<&'a [f64]>,
        outer: usize,
    ) -> Self {
        Self { values, errors, outer: 1, inner: outer }
    }

    fn at(&self, outer: usize, k: usize) -> (f64, f64) {
        let i = outer * self.outer + k * self.inner;
        (self.values[i], self.errors.map_or(0.0, |errors| errors[i]))
    }
}

/// `out[i, j] = Σ_k left[i, k]·right[j, k]`, row-major `[rows, columns]`.
#[derive(Clone, Copy)]
pub(crate) struct Product<'a> {
    pub(crate) rows: usize,
    pub(crate) columns: usize,
    /// The number of terms of each sum.
    pub(crate) length: usize,
    pub(crate) left: Factor<'a>,
    pub(crate) right: Factor<'a>,
}

impl Product<'_> {
    /// Sums, for each element of the result, `term` of the two factors and their errors, in the order of `k`.
    pub(crate) fn sums(&self, term: impl Fn((f64, f64), (f64, f64)) -> f64) -> Vec<f64> {
        // The right factor is laid out like the result's rows, so that the inner loop goes through adjacent elements
        // of both.
        let places = || (0..self.length).flat_map(|k| (0..self.columns).map(move |j| (j, k)));
        let values: Vec<f64> = places().map(|(j, k)| self.right.at(j, k).0).collect();
        let errors: Vec<f64> = places().map(|(j, k)| self.right.at(j, k).1).collect();
        // Sums start from -0, as the `sum` of an iterator does.
        let mut sums = vec![-0.0; self.rows * self.columns];
        for i in 0..self.rows {
            let row = &mut sums[i * self.columns..][..self.columns];
            for k in 0..self.length {
                let left = self.left.at(i, k);
                let values = &values[k * self.columns..][..self.columns];
                let errors = &errors[k * self.columns..][..self.columns];
                for ((sum, value), error) in row.iter_mut().zip(values).zip(errors) {
                    *sum += term(left, (*value, *error));
                }
            }
        }
        sums
    }

    /// The product in `float64`.
    pub(crate) fn values(&self) -> Vec<f64> {
        self.sums(|(p, _), (q, _)| p * q)
    }

    // ANCHOR: errors
    /// The bound of each element's error, if the factors have their errors and each term is rounded by
    /// `relative` of itself: with `|p̂ − p| ≤ δp` and `|q̂ − q| ≤ δq`,
    /// `|p̂·q̂ − p·q| ≤ |p|·δq + δp·|q| + δp·δq`, and rounding adds `relative·(|p| + δp)·(|q| + δq)`.
    ///
    /// `tiny` is the largest error that underflow causes in a product or a factor near zero; a factor of
    /// exactly 0 has none.
    pub(crate) fn errors(&self, relative: f64, tiny: f64) -> Vec<f64> {
        self.sums(|(p, p_error), (q, q_error)| {
            let (p, q) = (p.abs(), q.abs());
            let (widest_p, widest_q) = (p + p_error, q + q_error);
            if widest_p == 0.0 || widest_q == 0.0 {
                return 0.0;
            }
            p * q_error
                + p_error * widest_q
                + relative * widest_p * widest_q
                + tiny * (1.0 + widest_p + widest_q)
        })
    }
    // ANCHOR_END: errors
}
