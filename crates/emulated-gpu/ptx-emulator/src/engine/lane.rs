//! Element types of register rows.

#![allow(unsafe_code, reason = "only functions compiled for AVX2 call the AVX2 functions")]

use super::registers::{LANES, Registers};
#[cfg(target_arch = "x86_64")]
use super::vector::avx2;
use crate::memory::rows::copy_row;
use crate::memory::words::Word;

/// A value in a row.
pub(super) trait Lane: Copy + Default {
    /// Reads a row.
    fn row(registers: &Registers, index: u32) -> &[Self; LANES];
}

/// A value that occupies a register. `AVX2` if the calling function is compiled for AVX2.
pub(super) trait Stored: Lane + Word {
    /// A mutable row.
    fn row_mut(registers: &mut Registers, index: u32) -> &mut [Self; LANES];
    /// Copies the active lanes from another row.
    fn merge<const AVX2: bool>(to: &mut [Self; LANES], from: &[Self; LANES], mask: u32);
    /// Writes the active lanes of a row.
    #[inline(always)]
    fn write<const AVX2: bool>(
        registers: &mut Registers,
        index: u32,
        values: &[Self; LANES],
        mask: u32,
    ) {
        let row = Self::row_mut(registers, index);
        if mask == u32::MAX {
            copy_row(row, values);
        } else {
            Self::merge::<AVX2>(row, values, mask);
        }
    }
}

macro_rules! stored {
    ($($word:ident: $row:ident, $row_mut:ident, $merge:ident;)*) => {$(
        impl Lane for $word {
            #[inline(always)]
            fn row(registers: &Registers, index: u32) -> &[Self; LANES] {
                registers.$row(index)
            }
        }

        impl Stored for $word {
            #[inline(always)]
            fn row_mut(registers: &mut Registers, index: u32) -> &mut [Self; LANES] {
                registers.$row_mut(index)
            }

            #[inline(always)]
            fn merge<const AVX2: bool>(to: &mut [Self; LANES], from: &[Self; LANES], mask: u32) {
                #[cfg(target_arch = "x86_64")]
                if AVX2 {
                    // SAFETY: `AVX2` is only set in functions that run after the host has been
                    // checked.
                    return unsafe { avx2::$merge(to, from, mask) };
                }
                for lane in 0..LANES {
                    to[lane] = if mask & (1 << lane) != 0 { from[lane] } else { to[lane] };
                }
            }
        }
    )*};
}

stored! {
    u32: narrow, narrow_mut, merge_narrow;
    u64: wide, wide_mut, merge_wide;
}

/// A missing operand.
impl Lane for () {
    #[inline(always)]
    fn row(_: &Registers, _: u32) -> &[Self; LANES] {
        &[(); LANES]
    }
}
