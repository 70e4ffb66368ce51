//! The mapping from numbers in a case, the fuzzer's input, to the functions that they choose.

/// The number of slots of each function. A slot is a number; it covers all numbers after the previous slot, up to and
/// including itself. With 16 slots per function, every function is almost certainly chosen often enough.
const SLOTS: u64 = 16;

/// A mapping from numbers to functions by slots: a number chooses the function with the next slot. The slots of a
/// function only depend on its own signature, so cases keep their meaning if functions are added or removed: a new
/// function takes numbers evenly from all others, and the numbers of a removed function are distributed evenly.
pub(super) struct Choice(Vec<(u16, usize)>);

impl Choice {
    /// The mapping for functions with these signatures, which must differ.
    pub(super) fn new(signatures: &[&str]) -> Self {
        let slots_of =
            |(index, signature)| (0..SLOTS).map(move |copy| (slot(signature, copy), index));
        let mut slots: Vec<_> = signatures.iter().copied().enumerate().flat_map(slots_of).collect();
        // If two functions share a slot, the result depends neither on the order nor on the number of functions.
        slots.sort_by_key(|&(slot, index)| (slot, signatures[index]));
        Self(slots)
    }

    /// The index of the function that a number chooses.
    pub(super) fn function_index(&self, number: u16) -> usize {
        let next = self.0.partition_point(|(slot, _)| *slot < number);
        self.0[next % self.0.len()].1
    }
}

fn slot(signature: &str, copy: u64) -> u16 {
    let hash = |state: u64, byte: u8| (state ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
    let mut state = signature.bytes().fold(0xcbf2_9ce4_8422_2325 ^ copy, hash);
    for _ in 0..2 {
        state = (state ^ (state >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
    }
    (state >> 48) as u16
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::c_api::functions::signatures;

    /// Counts, for each function, the numbers that choose it.
    fn shares(signatures: &[&str]) -> Vec<usize> {
        let choice = Choice::new(signatures);
        let mut shares = vec![0; signatures.len()];
        (0..=u16::MAX).for_each(|number| shares[choice.function_index(number)] += 1);
        shares
    }

    #[test]
    fn every_function_is_chosen_and_none_much_more_often_than_others() {
        let signatures = signatures();
        let mean = (1 << 16) / signatures.len();
        for (line, share) in signatures.iter().zip(shares(&signatures)) {
            assert!((mean / 5..mean * 3).contains(&share), "{line}: {share} of 65536, mean {mean}");
        }
    }

    #[test]
    fn a_new_function_only_changes_the_numbers_that_choose_it() {
        let old = signatures();
        let new: Vec<&str> =
            std::iter::once("cuNew +stream int").chain(old.iter().copied()).collect();
        let (before, after) = (Choice::new(&old), Choice::new(&new));
        let chosen =
            |number| (old[before.function_index(number)], new[after.function_index(number)]);
        let changed = (0..=u16::MAX).map(chosen).filter(|(before, after)| before != after);
        let changed: Vec<_> = changed.collect();
        assert!(changed.iter().all(|(_, after)| *after == new[0]));
        assert!((1..=400).contains(&changed.len()), "{} of 65536", changed.len());
    }

    #[test]
    fn signatures_are_unique() {
        let mut signatures = signatures();
        let all = signatures.len();
        signatures.sort_unstable();
        signatures.dedup();
        assert_eq!(signatures.len(), all);
    }
}
