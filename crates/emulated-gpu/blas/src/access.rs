//! What work reads and writes, as the emulated driver wants to be told.

use crate::Rejection;

/// `height` rows of `width` bytes, whose beginnings lie `pitch` bytes apart. The driver's
/// `EmulatedGpuRange`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Access {
    /// The first byte.
    pub address: u64,
    /// Bytes of a row.
    pub width: u64,
    /// Rows.
    pub height: u64,
    /// Bytes from a row to the next.
    pub pitch: u64,
    kind: u32,
    alignment: u32,
}

impl Access {
    /// It is read.
    #[must_use]
    pub fn read(address: u64, width: u64, height: u64, pitch: u64) -> Self {
        Self { address, width, height, pitch, kind: 1, alignment: 0 }
    }

    /// It is written.
    #[must_use]
    pub fn write(address: u64, width: u64, height: u64, pitch: u64) -> Self {
        Self { kind: 2, ..Self::read(address, width, height, pitch) }
    }

    /// The same, at a multiple of this many bytes.
    #[must_use]
    pub fn aligned_to(self, bytes: u64) -> Self {
        Self { alignment: u32::try_from(bytes).unwrap_or(u32::MAX), ..self }
    }

    /// A batch of matrices, of whose columns the first begins at an address and each has some bytes: how many
    /// columns there are, and matrices, and how far they are apart in bytes. Matrix by matrix, or, where there are
    /// more of these than columns, the first columns of all, then the second ones, and so on. Either way there are
    /// no more accesses than the root of all columns.
    pub fn batch(
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

    /// Bytes in one piece that are read.
    #[must_use]
    pub fn read_bytes(address: u64, len: u64) -> Self {
        Self::read(address, len, 1, len)
    }

    /// Puts more of them into a list.
    ///
    /// # Errors
    /// When the host has not the room.
    pub fn add_all(
        list: &mut Vec<Self>,
        more: impl IntoIterator<Item = Self>,
    ) -> Result<(), Rejection> {
        for access in more {
            if list.len() == list.capacity() {
                list.try_reserve(list.len().max(8)).map_err(|_| {
                    Rejection::out_of_memory("the host has not the room for a list of all matrices")
                })?;
            }
            list.push(access);
        }
        Ok(())
    }

    /// Bytes in one piece that are written.
    #[must_use]
    pub fn write_bytes(address: u64, len: u64) -> Self {
        Self::write(address, len, 1, len)
    }
}
