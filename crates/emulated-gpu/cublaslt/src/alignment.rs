//! Alignments of operands. An algorithm is chosen for a minimum alignment, and only works for
//! operands that have it.

/// The size in bytes of the widest load on a GPU; no algorithm needs a larger alignment.
const WIDEST: u64 = 16;

/// The largest power of two up to [`WIDEST`] that divides a number; for 0 it is [`WIDEST`].
pub(crate) fn largest_power(number: u64) -> u64 {
    if number == 0 { WIDEST } else { WIDEST.min(1 << number.trailing_zeros().min(63)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alignments_are_powers_of_two_up_to_the_widest_load() {
        assert_eq!([0, 1, 2, 12, 8, 16, 48, 4096].map(largest_power), [16, 1, 2, 4, 8, 16, 16, 16]);
    }
}
