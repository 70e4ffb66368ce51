//! Checks that operands are inside allocations of the driver.

use crate::{Allocation, Driver, Matrix, Rejection, Result};

impl Driver {
    /// Extends a mapped allocation (`cuMemMap`) by the mappings directly before and after it. Other
    /// allocations are returned unchanged.
    ///
    /// # Errors
    /// See [`allocation_of`](Self::allocation_of).
    pub fn with_adjacent_mappings(&self, mut range: Allocation) -> Result<Allocation> {
        if !self.is_mapped(range.base) {
            return Ok(range);
        }
        while let Some(next) =
            self.allocation_of(range.end())?.filter(|next| next.base == range.end())
        {
            range.size += next.size;
        }
        let before = |range: Allocation| self.allocation_of(range.base.wrapping_sub(1));
        while let Some(last) = before(range)?.filter(|last| last.end() == range.base) {
            range = Allocation { base: last.base, size: last.size + range.size };
        }
        Ok(range)
    }
}

impl Matrix {
    /// Checks the address of a matrix, unless it is empty, and that the whole matrix is inside a
    /// single allocation.
    ///
    /// # Errors
    /// See [`check_address`](Self::check_address) and [`check_bounds`](Self::check_bounds).
    pub fn check_memory(&self, driver: &Driver) -> Result {
        self.check_address()?;
        self.check_bounds(driver)
    }

    /// Checks that the whole matrix is inside a single allocation.
    ///
    /// # Errors
    /// `INVALID_VALUE` if the matrix isn't; the message has the positions of the matrix and of the
    /// allocation.
    pub fn check_bounds(&self, driver: &Driver) -> Result {
        let (name, ld_name, ld) = (self.name, self.ld_name, self.ld);
        let (rows, columns) = (self.rows, self.columns);
        let Some((first, len)) = self.byte_range() else {
            return Err(Rejection::invalid(format!(
                "{name} of {rows} x {columns} with {ld_name} {ld} is larger than the address space"
            )));
        };
        let batch = if self.batch > 1 {
            format!(", {} times {} elements apart", self.batch, self.batch_stride)
        } else {
            String::new()
        };
        let ty = self.ty.name();
        let what = || format!("{name} is {rows} x {columns} {ty} with {ld_name} {ld}{batch}");
        check(driver, name, what, self.address, first, len)
    }
}

/// Checks that `len` bytes from `address` are inside a single allocation. `name` is used in the
/// message.
///
/// # Errors
/// `INVALID_VALUE` if the bytes are not inside one.
pub fn check_range(driver: &Driver, name: &str, address: u64, len: u64) -> Result {
    check(driver, name, || name.to_owned(), address, address, len)
}

/// Checks a range. `address` is the caller's argument, and `first` the lowest address that is
/// accessed.
fn check(
    driver: &Driver,
    name: &str,
    what: impl FnOnce() -> String,
    address: u64,
    first: u64,
    len: u64,
) -> Result {
    if len == 0 {
        return Ok(());
    }
    let Some(range) = driver.allocation_of(address)? else {
        return Err(Rejection::invalid(format!(
            "{name} is at {address:#x}, which is not inside a device allocation"
        )));
    };
    let holds =
        |range: &Allocation| first >= range.base && len <= range.end().saturating_sub(first);
    if holds(&range) || holds(&driver.with_adjacent_mappings(range)?) {
        return Ok(());
    }
    let outside = if first < range.base {
        format!("begins {} bytes before it", range.base - first)
    } else {
        format!("ends {} bytes after it", first.saturating_add(len) - range.end())
    };
    Err(Rejection::invalid(format!(
        "{}: {len} bytes from {first:#x}. The allocation there has {} bytes from {:#x}, and {name} {outside}",
        what(),
        range.size,
        range.base,
    )))
}
