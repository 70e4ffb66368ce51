//! `mma.sp`: of every few elements of a row of `a` only some are kept, and metadata say which (PTX ISA,
//! "Sparse matrix storage").
//!
//! In a group of four lanes one or two have the metadata of rows `g` and `g + 8`, or all four, each a word of
//! 32 bits: four bits for each chunk of a row, which are two places in it, the first in the low ones. A word
//! of factors of 16 bits or more has the row `g` in its lower and `g + 8` in its upper half; the lane after
//! it goes on with the columns. One of narrower factors has a single row, the lane after it the other one.

use crate::engine::core::Problem;
use crate::engine::registers::{LANES, Registers, Slot};
use crate::fault::FaultKind;
use crate::program::{Element, Fragment};

/// Which elements of `a` a product has.
pub(super) struct Sparse {
    metadata: Slot,
    /// The lanes of a group that have metadata begin this many times as many of them further on.
    selector: u32,
    /// Places in a chunk are named in their order.
    ordered: bool,
    /// That of the elements that are kept.
    fragment: Fragment,
    /// Columns of `a`, of `b` the rows.
    k: usize,
}

/// Bits of metadata for a chunk.
const NIBBLE: usize = 4;

impl Sparse {
    pub(super) fn new(
        metadata: Slot,
        (selector, ordered): (u32, bool),
        fragment: Fragment,
        k: usize,
    ) -> Self {
        Self { metadata, selector, ordered, fragment, k }
    }

    /// Elements that a place in a chunk stands for, and columns of a chunk.
    fn granularity(&self) -> (usize, usize) {
        match self.fragment.element {
            // Two halves of an element are named.
            Element::Tf32 => (1, 2),
            Element::S4 | Element::U4 => (2, 8),
            _ => (1, 4),
        }
    }

    /// The four bits of a chunk of a row, from the lane that has them.
    fn nibble(&self, words: &[u32; LANES], row: usize, chunk: usize) -> u32 {
        let chunks = self.k / self.granularity().1;
        let (group, upper) = (row % 8, row / 8);
        let narrow = self.fragment.element.bits() <= 8;
        let in_word = if narrow { 8 } else { 4 };
        // Words of a group of lanes: of two rows each, or of one.
        let lanes = if narrow { 2 * chunks / in_word } else { chunks / in_word };
        let (further, shift) = if narrow {
            (upper + 2 * (chunk / in_word), NIBBLE * (chunk % in_word))
        } else {
            (chunk / in_word, NIBBLE * (chunk % in_word) + 16 * upper)
        };
        let lane = 4 * group + lanes * self.selector as usize + further;
        words[lane % LANES] >> shift & 0xf
    }

    /// The column of an element that is kept: the `kept`-th of a row.
    fn column(
        &self,
        words: &[u32; LANES],
        (row, kept): (usize, usize),
    ) -> Result<usize, Box<Problem>> {
        let (run, width) = self.granularity();
        // Half of a chunk is kept.
        let (chunk, within) = (kept / (width / 2), kept % (width / 2));
        let bits = self.nibble(words, row, chunk);
        let (first, second) = (bits as usize & 3, bits as usize >> 2);
        let sound = if width == 2 {
            matches!(bits, 0b0100 | 0b1110)
        } else if self.ordered {
            first < second
        } else {
            first != second
        };
        if !sound {
            let message = format!(
                "the metadata of row {row}, columns {} to {}, are {bits:#06b}",
                chunk * width,
                chunk * width + width - 1
            );
            let help = match (width, self.ordered) {
                (2, _) => "of two numbers the first is 0b0100, the second 0b1110",
                (_, true) => "they name two places of the chunk, the lower one first",
                (_, false) => "they name two different places of the chunk",
            };
            return Err(Problem::new(FaultKind::InvalidInstruction, message).note(help));
        }
        let place = match (width, within / run) {
            (2, _) => first / 2,
            (_, 0) => first,
            _ => second,
        };
        Ok(chunk * width + place * run + within % run)
    }

    /// For each register of `a`, each lane and each part of it, which element of the whole tile it is.
    pub(super) fn places(&self, registers: &Registers) -> Result<Vec<u16>, Box<Problem>> {
        let words = registers.narrow(self.metadata.index);
        let mut found = Vec::new();
        for index in 0..self.fragment.registers() {
            for lane in 0..LANES {
                for part in 0..self.fragment.element.in_register() {
                    let (_, row, kept) = self.fragment.place(lane, index, part);
                    let column = self.column(words, (row, kept)).map_err(|p| p.lane(lane))?;
                    found.push((row * self.k + column) as u16);
                }
            }
        }
        Ok(found)
    }
}
