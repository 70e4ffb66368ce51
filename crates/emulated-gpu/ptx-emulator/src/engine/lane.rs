//! Lanes' values as Rust types: the elements of rows of registers.

#![allow(
    unsafe_code,
    reason = "functions for AVX2 are called, from functions that are compiled for it"
)]

use super::registers::{LANES, Registers};
#[cfg(target_arch = "x86_64")]
use super::vector::avx2;
use crate::memory::rows::copy_own;
use crate::memory::words::Word;

/// What a row holds.
pub(super) trait Lane: Copy + Default {
    /// Reads a row.
    fn row(registers: &Registers, index: u32) -> &[Self; LANES];
}

/// What is not nothing. `AVX2` says that a function is part of one that is compiled for it.
pub(super) trait Stored: Lane + Word {
    /// A row, to be written.
    fn row_mut(registers: &mut Registers, index: u32) -> &mut [Self; LANES];
    /// Takes the lanes of a mask from another row.
    fn merge<const AVX2: bool>(to: &mut [Self; LANES], from: &[Self; LANES], mask: u32);
    /// Writes the lanes of a mask.
    #[inline(always)]
    fn write<const AVX2: bool>(
        registers: &mut Registers,
        index: u32,
        values: &[Self; LANES],
        mask: u32,
    ) {
        let row = Self::row_mut(registers, index);
        if mask == u32::MAX {
            copy_own(row, values);
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
                    // SAFETY: who calls a function that is compiled for it has asked the host.
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

/// An operand that is not there.
impl Lane for () {
    #[inline(always)]
    fn row(_: &Registers, _: u32) -> &[Self; LANES] {
        &[(); LANES]
    }
}
