//! What rows of registers hold and memory too.

use crate::engine::lane::Lane;
use crate::engine::registers::{LANES, Registers};
use crate::memory::words::Word;

/// A word of either.
pub(super) trait Element: Lane + Word {
    /// A row, to be written.
    fn row_mut(registers: &mut Registers, index: u32) -> &mut [Self; LANES];
}

impl Element for u32 {
    #[inline(always)]
    fn row_mut(registers: &mut Registers, index: u32) -> &mut [Self; LANES] {
        registers.narrow_mut(index)
    }
}

impl Element for u64 {
    #[inline(always)]
    fn row_mut(registers: &mut Registers, index: u32) -> &mut [Self; LANES] {
        registers.wide_mut(index)
    }
}
