//! The registers of a warp, as a struct of arrays: the values of 32 lanes are contiguous.
//!
//! A register of up to 32 bits is one row of 32 words (16- and 8-bit values are zero-extended); a
//! register of 64 bits is two rows with 32 words of 64 bits. A predicate is one word with one bit
//! per lane. Constants and most special registers are rows too, initialised in advance, so that
//! every operand can be fetched by reading a row.

#![allow(unsafe_code, reason = "the innermost loop views two rows of words as one of 64-bit words")]

use crate::room::OutOfMemory;
use crate::room::filled;

/// The number of lanes in a warp.
pub(super) const LANES: usize = 32;

/// A row of 32 words.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(128))]
pub(super) struct Row(pub(super) [u32; LANES]);

/// A predicate slot that is always true.
pub(super) const ALWAYS: u32 = 0;
/// A predicate slot that is always false.
pub(super) const NEVER: u32 = 1;
/// A predicate slot for unused results.
pub(super) const SINK_PREDICATE: u32 = 2;
/// The first free predicate slot.
pub(super) const FIRST_PREDICATE: u32 = 3;
/// The first row for unused results; these are rows 0 to 3.
pub(super) const SINK: u32 = 0;
/// The first free row.
pub(super) const FIRST_ROW: u32 = 4;

/// The registers of one warp.
#[derive(Clone, Debug, Default)]
pub(super) struct Registers {
    rows: Box<[Row]>,
    /// One bit per lane.
    pub(super) predicates: Vec<u32>,
    /// The lanes in which each row and each predicate is initialised; empty unless tracked.
    defined: [Vec<u32>; 2],
}

/// The storage of a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Width {
    /// One bit, in `predicates`.
    Predicate,
    /// One row, of which only the given number of low bits is used.
    Narrow(u8),
    /// Two rows.
    Wide,
    /// Four rows: the low half, then the high half.
    Quad,
}

/// The location of a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Slot {
    pub(super) index: u32,
    pub(super) width: Width,
}

impl Slot {
    /// The low and the high half of a 128-bit register; for others, the register itself and a sink.
    pub(super) fn halves(self) -> (Self, Self) {
        let wide = |index| Self { index, width: Width::Wide };
        match self.width {
            Width::Quad => (wide(self.index), wide(self.index + 2)),
            _ => (self, wide(SINK)),
        }
    }
}

impl Registers {
    /// Allocates zeroed rows and predicates.
    pub(super) fn new(rows: u32, predicates: u32) -> Result<Self, OutOfMemory> {
        let mut words = filled(0, predicates.max(FIRST_PREDICATE) as usize)?;
        words[ALWAYS as usize] = u32::MAX;
        let rows = filled(Row([0; LANES]), rows.max(FIRST_ROW) as usize)?;
        Ok(Self {
            rows: rows.into_boxed_slice(),
            predicates: words,
            defined: [Vec::new(), Vec::new()],
        })
    }

    /// A hash of the content of some registers, to detect changes.
    pub(super) fn digest(&self, slots: &[Slot]) -> u64 {
        let mix = |sum: u64, word: u32| {
            (sum ^ u64::from(word)).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29)
        };
        slots.iter().fold(0, |sum, slot| {
            let at = slot.index as usize;
            let rows = match slot.width {
                Width::Predicate => return mix(sum, self.predicates[at]),
                Width::Narrow(_) => 1,
                Width::Wide => 2,
                Width::Quad => 4,
            };
            let words = self.rows[at..at + rows].iter().flat_map(|row| row.0);
            words.fold(sum, mix)
        })
    }

    /// Starts to track initialisation. All current values count as initialised.
    pub(super) fn track(&mut self) -> Result<(), OutOfMemory> {
        self.defined =
            [filled(u32::MAX, self.rows.len())?, filled(u32::MAX, self.predicates.len())?];
        Ok(())
    }

    /// The lanes in which a register is initialised.
    pub(super) fn defined(&self, slot: Slot) -> u32 {
        let list = &self.defined[usize::from(slot.width == Width::Predicate)];
        list.get(slot.index as usize).copied().unwrap_or(u32::MAX)
    }

    /// Sets the initialisation of a register in the lanes of `mask`, from the bits in `known`.
    pub(super) fn define(&mut self, slot: Slot, mask: u32, known: u32) {
        let list = &mut self.defined[usize::from(slot.width == Width::Predicate)];
        if let Some(word) = list.get_mut(slot.index as usize) {
            *word = *word & !mask | known & mask;
        }
    }

    /// Zeroes a range of rows, and all predicates, for a new block.
    pub(super) fn clear(&mut self, rows: std::ops::Range<u32>) {
        let rows = rows.start as usize..rows.end as usize;
        self.rows[rows.clone()].fill(Row([0; LANES]));
        self.predicates[FIRST_PREDICATE as usize..].fill(0);
        let [defined, predicates] = &mut self.defined;
        if !defined.is_empty() {
            defined[rows].fill(0);
            predicates[FIRST_PREDICATE as usize..].fill(0);
        }
    }

    /// A row of 32-bit words.
    #[inline(always)]
    pub(super) fn narrow(&self, index: u32) -> &[u32; LANES] {
        &self.rows[index as usize].0
    }

    /// A mutable row of 32-bit words.
    #[inline(always)]
    pub(super) fn narrow_mut(&mut self, index: u32) -> &mut [u32; LANES] {
        &mut self.rows[index as usize].0
    }

    /// The offset in this struct of the address of the first row; `None` unless a reference to rows
    /// is represented as an address followed by a length.
    #[cfg(target_family = "wasm")]
    pub(super) fn offset_of_rows(&self) -> Option<usize> {
        let offset = std::mem::offset_of!(Self, rows);
        // SAFETY: the first word of a field of two words.
        let word = unsafe { (&raw const *self).byte_add(offset).cast::<usize>().read() };
        (word == self.rows.as_ptr().addr()).then_some(offset)
    }

    /// A row of 64-bit words.
    #[inline(always)]
    pub(super) fn wide(&self, index: u32) -> &[u64; LANES] {
        let rows = &self.rows[index as usize..index as usize + 2];
        // SAFETY: two consecutive rows are 256 bytes, aligned to 128, every bit pattern is valid.
        unsafe { &*rows.as_ptr().cast::<[u64; LANES]>() }
    }

    /// A mutable row of 64-bit words.
    #[inline(always)]
    pub(super) fn wide_mut(&mut self, index: u32) -> &mut [u64; LANES] {
        let rows = &mut self.rows[index as usize..index as usize + 2];
        // SAFETY: as in `wide`; the borrow of `self` is unique.
        unsafe { &mut *rows.as_mut_ptr().cast::<[u64; LANES]>() }
    }

    /// The value in one lane of a register of up to 64 bits; of a wider one, its low half.
    #[inline]
    pub(super) fn get(&self, slot: Slot, lane: usize) -> u64 {
        match slot.width {
            Width::Predicate => u64::from(self.predicates[slot.index as usize] >> lane & 1),
            Width::Narrow(_) => u64::from(self.narrow(slot.index)[lane]),
            Width::Wide | Width::Quad => self.wide(slot.index)[lane],
        }
    }

    /// The value in one lane of a register of up to 128 bits.
    pub(super) fn get_whole(&self, slot: Slot, lane: usize) -> u128 {
        let (low, high) = slot.halves();
        let high = if slot.width == Width::Quad { self.get(high, lane) } else { 0 };
        u128::from(self.get(low, lane)) | u128::from(high) << 64
    }

    /// Sets one lane of a register of up to 128 bits.
    pub(super) fn set_whole(&mut self, slot: Slot, lane: usize, value: u128) {
        let (low, high) = slot.halves();
        self.set(low, lane, value as u64);
        if slot.width == Width::Quad {
            self.set(high, lane, (value >> 64) as u64);
        }
    }

    /// The values in all lanes of a register of up to 64 bits.
    #[inline]
    pub(super) fn all_lanes(&self, slot: Slot) -> [u64; LANES] {
        match slot.width {
            Width::Narrow(_) => self.narrow(slot.index).map(u64::from),
            Width::Wide | Width::Quad => *self.wide(slot.index),
            Width::Predicate => std::array::from_fn(|lane| self.get(slot, lane)),
        }
    }

    /// Sets one lane of a register; higher bits are truncated.
    #[inline]
    pub(super) fn set(&mut self, slot: Slot, lane: usize, value: u64) {
        match slot.width {
            Width::Predicate => {
                let word = &mut self.predicates[slot.index as usize];
                *word = *word & !(1 << lane) | ((value & 1) as u32) << lane;
            }
            Width::Narrow(bits) => {
                let kept = if bits >= 32 { u32::MAX } else { (1 << bits) - 1 };
                self.narrow_mut(slot.index)[lane] = value as u32 & kept;
            }
            Width::Wide => self.wide_mut(slot.index)[lane] = value,
            Width::Quad => {
                self.wide_mut(slot.index)[lane] = value;
                self.wide_mut(slot.index + 2)[lane] = 0;
            }
        }
    }

    /// Sets all lanes of a register to the same value.
    pub(super) fn broadcast(&mut self, slot: Slot, value: u64) {
        self.set(slot, 0, value);
        let at = slot.index as usize;
        match slot.width {
            Width::Predicate => {
                self.predicates[at] = (self.predicates[at] & 1).wrapping_neg();
            }
            Width::Narrow(_) => {
                let first = self.narrow(slot.index)[0];
                self.narrow_mut(slot.index).fill(first);
            }
            Width::Wide => self.wide_mut(slot.index).fill(value),
            Width::Quad => {
                self.wide_mut(slot.index).fill(value);
                self.wide_mut(slot.index + 2).fill(0);
            }
        }
    }
}

/// Iterates over the lanes in a mask, starting from the lowest.
#[inline]
pub(super) fn lanes(mask: u32) -> impl Iterator<Item = usize> {
    let mut left = mask;
    std::iter::from_fn(move || {
        (left != 0).then(|| {
            let lane = left.trailing_zeros() as usize;
            left &= left - 1;
            lane
        })
    })
}
