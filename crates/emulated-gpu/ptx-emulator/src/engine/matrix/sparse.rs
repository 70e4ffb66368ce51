//! `mma.sp`: `a` only stores some elements of each chunk of a row, and metadata give their
//! positions (PTX ISA, "Sparse matrix storage").
//!
//! In each group of four lanes, one, two or all lanes contain the metadata of rows `g` and `g + 8`,
//! one 32-bit word each. Each chunk of a row takes four bits: two positions in the chunk, with the
//! first one in the low bits. With elements of 16 bits or more, a word has row `g` in its lower
//! half and `g + 8` in its upper half, and the next lane continues with further columns. With
//! narrower elements, a word has a single row, and the next lane has the other row.

use crate::engine::core::{Outcome, Problem};
use crate::engine::registers::{LANES, Registers, Slot};
use crate::fault::FaultKind;
use crate::program::{Element, Fragment};

/// The structure of a sparse `a`.
pub(super) struct Sparse {
    metadata: Slot,
    /// Selects the lanes of a group that hold metadata. If `n` lanes hold them, the first is lane
    /// `n * selector`.
    selector: u32,
    /// Whether the positions in a chunk have to be in ascending order.
    ordered: bool,
    /// The fragment of the stored elements.
    fragment: Fragment,
    /// The number of columns of the full `a`, and of rows of `b`.
    k: usize,
}

/// The bits of metadata per chunk.
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

    /// The number of elements per position in a chunk, and of columns in a chunk.
    fn granularity(&self) -> (usize, usize) {
        match self.fragment.element {
            // Each element counts as two positions, one for each of its halves.
            Element::Tf32 => (1, 2),
            Element::S4 | Element::U4 => (2, 8),
            _ => (1, 4),
        }
    }

    /// The metadata of a chunk, from the lane that holds them.
    fn nibble(&self, words: &[u32; LANES], row: usize, chunk: usize) -> u32 {
        let chunks = self.k / self.granularity().1;
        let (group, upper) = (row % 8, row / 8);
        let narrow = self.fragment.element.bits() <= 8;
        let in_word = if narrow { 8 } else { 4 };
        // The number of metadata words of a group of lanes. A word has the chunks of one row if the
        // elements are narrow, otherwise of two rows.
        let lanes = if narrow { 2 * chunks / in_word } else { chunks / in_word };
        let (further, shift) = if narrow {
            (upper + 2 * (chunk / in_word), NIBBLE * (chunk % in_word))
        } else {
            (chunk / in_word, NIBBLE * (chunk % in_word) + 16 * upper)
        };
        let lane = 4 * group + lanes * self.selector as usize + further;
        words[lane % LANES] >> shift & 0xf
    }

    /// The column of a row's `kept`-th stored element.
    fn column(&self, words: &[u32; LANES], (row, kept): (usize, usize)) -> Outcome<usize> {
        let (run, width) = self.granularity();
        // Half of each chunk is stored.
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
                (2, _) => {
                    "for the first of two elements they have to be 0b0100, for the second 0b1110"
                }
                (_, true) => "they have to name two positions in the chunk, the lower one first",
                (_, false) => "they have to name two different positions in the chunk",
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

    /// The index in the full tile of each element of `a`, by register, lane and position in the
    /// register.
    pub(super) fn places(&self, registers: &Registers) -> Outcome<Vec<u16>> {
        let words = registers.narrow(self.metadata.index);
        let mut places = Vec::new();
        for index in 0..self.fragment.registers() {
            for lane in 0..LANES {
                for part in 0..self.fragment.element.in_register() {
                    let (_, row, kept) = self.fragment.place(lane, index, part);
                    let column = self.column(words, (row, kept)).map_err(|p| p.lane(lane))?;
                    places.push((row * self.k + column) as u16);
                }
            }
        }
        Ok(places)
    }
}
