//! What the rows of registers hold, as Rust sees it.

use super::registers::{LANES, Registers};
use crate::memory::rows::copy_own;

/// What a row holds.
pub(super) trait Lane: Copy + Default {
    /// Reads a row.
    fn row(registers: &Registers, index: u32) -> &[Self; LANES];
}

/// What is not nothing.
pub(super) trait Stored: Lane {
    /// A row, to be written.
    fn row_mut(registers: &mut Registers, index: u32) -> &mut [Self; LANES];
    /// Writes the lanes of a mask.
    fn write(registers: &mut Registers, index: u32, values: &[Self; LANES], mask: u32);
}

impl Lane for u32 {
    #[inline(always)]
    fn row(registers: &Registers, index: u32) -> &[Self; LANES] {
        registers.narrow(index)
    }
}

impl Stored for u32 {
    #[inline(always)]
    fn row_mut(registers: &mut Registers, index: u32) -> &mut [Self; LANES] {
        registers.narrow_mut(index)
    }

    #[inline(always)]
    fn write(registers: &mut Registers, index: u32, values: &[Self; LANES], mask: u32) {
        let row = registers.narrow_mut(index);
        if mask == u32::MAX {
            copy_own(row, values);
        } else {
            for lane in 0..LANES {
                row[lane] = if mask & (1 << lane) != 0 { values[lane] } else { row[lane] };
            }
        }
    }
}

impl Lane for u64 {
    #[inline(always)]
    fn row(registers: &Registers, index: u32) -> &[Self; LANES] {
        registers.wide(index)
    }
}

impl Stored for u64 {
    #[inline(always)]
    fn row_mut(registers: &mut Registers, index: u32) -> &mut [Self; LANES] {
        registers.wide_mut(index)
    }

    #[inline(always)]
    fn write(registers: &mut Registers, index: u32, values: &[Self; LANES], mask: u32) {
        let row = registers.wide_mut(index);
        if mask == u32::MAX {
            copy_own(row, values);
        } else {
            for lane in 0..LANES {
                row[lane] =
                    if u64::from(mask) & (1 << lane) != 0 { values[lane] } else { row[lane] };
            }
        }
    }
}

/// An operand that is not there.
impl Lane for () {
    #[inline(always)]
    fn row(_: &Registers, _: u32) -> &[Self; LANES] {
        &[(); LANES]
    }
}
