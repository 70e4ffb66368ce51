//! Whether operands lie inside the allocations that the driver knows.

use crate::{Driver, Matrix, Range, Rejection};

impl Driver {
    /// An allocation; of memory that is mapped, with the mappings that follow it without a hole, and those
    /// before it.
    ///
    /// # Errors
    /// As of [`range_of`](Self::range_of).
    pub fn whole_of(&self, mut range: Range) -> Result<Range, Rejection> {
        if !self.is_mapped(range.base) {
            return Ok(range);
        }
        while let Some(next) = self.range_of(range.end())?.filter(|next| next.base == range.end()) {
            range.size += next.size;
        }
        let before = |range: Range| self.range_of(range.base.wrapping_sub(1));
        while let Some(last) = before(range)?.filter(|last| last.end() == range.base) {
            range = Range { base: last.base, size: last.size + range.size };
        }
        Ok(range)
    }
}

impl Matrix {
    /// Requires that all of it is inside one allocation.
    ///
    /// # Errors
    /// When it is not.
    pub fn check_bounds(&self, driver: &Driver) -> Result<(), Rejection> {
        let (name, ld_name, ld) = (self.name, self.ld_name, self.ld);
        let (rows, columns) = (self.rows, self.columns);
        let Some((first, len)) = self.span() else {
            return Err(Rejection::invalid(format!(
                "{name} of {rows} x {columns} with {ld_name} {ld} is larger than memory"
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

/// Requires that `len` bytes from `address` on are inside one allocation. `name` names them.
///
/// # Errors
/// When they are not.
pub fn check_range(driver: &Driver, name: &str, address: u64, len: u64) -> Result<(), Rejection> {
    check(driver, name, || name.to_owned(), address, address, len)
}

/// `address` is what the caller passed, `first` the lowest byte that is touched.
fn check(
    driver: &Driver,
    name: &str,
    what: impl FnOnce() -> String,
    address: u64,
    first: u64,
    len: u64,
) -> Result<(), Rejection> {
    if len == 0 {
        return Ok(());
    }
    let Some(range) = driver.range_of(address)? else {
        return Err(Rejection::invalid(format!(
            "{name} is at {address:#x}, which no device allocation holds"
        )));
    };
    let holds = |range: &Range| first >= range.base && len <= range.end().saturating_sub(first);
    if holds(&range) || holds(&driver.whole_of(range)?) {
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
