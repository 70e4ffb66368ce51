//! Vectors in memory. A vector consists of every `inc`-th element, starting from the end if `inc`
//! is negative.

use emulated_blas::{DataType, Driver, Matrix, Order, Rejection, Result, View, reject_if};

use crate::level3::check_sizes;

/// A vector, as described by a call's arguments.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Vector {
    pub(crate) name: &'static str,
    pub(crate) inc_name: &'static str,
    pub(crate) address: u64,
    pub(crate) ty: DataType,
    pub(crate) len: i64,
    pub(crate) inc: i64,
}

impl Vector {
    /// Checks the vector, and returns it as a matrix with one row, whose first element has the
    /// lowest address.
    pub(crate) fn check(&self, driver: &Driver) -> Result<Matrix> {
        let Self { name, inc_name, address, ty, len, inc } = *self;
        check_sizes([(len, &*format!("the length of {name}"))])?;
        reject_if!(inc == 0, invalid, "{inc_name} is 0: it must not be 0");
        let ld = i64::try_from(inc.unsigned_abs())
            .map_err(|_| Rejection::invalid(format!("{inc_name} is {inc}")))?;
        let matrix = Matrix {
            name,
            ld_name: inc_name,
            address,
            ty,
            rows: 1,
            columns: len.unsigned_abs(),
            ld,
            order: Order::Column,
            batch: 1,
            batch_stride: 0,
        };
        matrix.check_memory(driver)?;
        Ok(matrix)
    }

    /// Checks a batch of vectors whose starts are `stride` elements apart.
    pub(crate) fn check_batch(&self, driver: &Driver, batch: i64, stride: i64) -> Result<Matrix> {
        let first = self.check(driver)?;
        let all = Matrix { batch: batch.unsigned_abs(), batch_stride: stride, ..first };
        all.check_bounds(driver)?;
        Ok(all)
    }

    /// A view of the elements as a column. The arithmetic wraps, because a vector that is never
    /// read is not checked.
    pub(crate) fn view(&self) -> View {
        let before =
            if self.inc < 0 { self.len.saturating_sub(1).max(0).unsigned_abs() } else { 0 };
        let steps = before.wrapping_mul(self.inc.unsigned_abs());
        let address = self.address.wrapping_add(steps.wrapping_mul(self.ty.size()));
        View::new(address, self.ty, (self.inc as isize, 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn negative_increments_start_at_the_end() {
        let vector = Vector {
            name: "x",
            inc_name: "incx",
            address: 1000,
            ty: DataType::F32,
            len: 4,
            inc: -2,
        };
        assert_eq!(vector.view(), View::new(1000 + 6 * 4, DataType::F32, (-2, 1)));
        let forward = Vector { inc: 2, ..vector };
        assert_eq!(forward.view().address, 1000);
    }
}
