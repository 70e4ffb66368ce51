//! Ranges of device memory that work reads or writes, as the emulated driver expects them.

use crate::{Rejection, Result};

/// A range of `height` rows with `width` bytes each, whose starts are `pitch` bytes apart. It has
/// the layout of the driver's `EmulatedGpuRange`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Access {
    /// The address of the first byte.
    pub address: u64,
    /// The bytes in a row.
    pub width: u64,
    /// The number of rows.
    pub height: u64,
    /// The distance in bytes between the starts of adjacent rows.
    pub pitch: u64,
    kind: u32,
    alignment: u32,
}

impl Access {
    /// A range that is read.
    #[must_use]
    pub fn read(address: u64, width: u64, height: u64, pitch: u64) -> Self {
        Self { address, width, height, pitch, kind: 1, alignment: 0 }
    }

    /// A range that is written.
    #[must_use]
    pub fn write(address: u64, width: u64, height: u64, pitch: u64) -> Self {
        Self { kind: 2, ..Self::read(address, width, height, pitch) }
    }

    /// The same range with the requirement that it is aligned to `bytes` bytes.
    #[must_use]
    pub fn aligned_to(self, bytes: u64) -> Self {
        Self { alignment: u32::try_from(bytes).unwrap_or(u32::MAX), ..self }
    }

    /// The ranges of a batch of matrices. The arguments are the address of the first column and the
    /// size of a column in bytes; the number of columns and their distance in bytes; the number of
    /// matrices and their distance in bytes. There is one range per matrix or, if there are fewer
    /// columns than matrices, one per column index, covering that column of all matrices. So the
    /// number of ranges is at most the square root of the number of all columns.
    pub fn batch_ranges(
        access: fn(u64, u64, u64, u64) -> Self,
        (first, bytes): (u64, u64),
        (columns, column): (u64, u64),
        (matrices, matrix): (u64, u64),
    ) -> impl Iterator<Item = Self> {
        let by_column = matrices > columns;
        (0..if by_column { columns } else { matrices }).map(move |index| {
            if by_column {
                access(first.wrapping_add(index.wrapping_mul(column)), bytes, matrices, matrix)
            } else {
                access(first.wrapping_add(index.wrapping_mul(matrix)), bytes, columns, column)
            }
        })
    }

    /// A contiguous range that is read.
    #[must_use]
    pub fn read_bytes(address: u64, len: u64) -> Self {
        Self::read(address, len, 1, len)
    }

    /// Appends ranges to a list.
    ///
    /// # Errors
    /// `ALLOC_FAILED` if the host is out of memory.
    pub fn append(list: &mut Vec<Self>, more: impl IntoIterator<Item = Self>) -> Result {
        for access in more {
            if list.len() == list.capacity() {
                list.try_reserve(list.len().max(8)).map_err(|_| {
                    let message = "the host is out of memory for the list of all matrices";
                    Rejection::out_of_memory(message)
                })?;
            }
            list.push(access);
        }
        Ok(())
    }

    /// A contiguous range that is written.
    #[must_use]
    pub fn write_bytes(address: u64, len: u64) -> Self {
        Self::write(address, len, 1, len)
    }
}
