//! Memory traffic of a warp's access: sectors of global memory, passes through shared memory.

use super::state_space::{SHARED_WINDOW, StateSpace, in_window};
use crate::statistics::LineStatistics;

/// The bytes per sector, the unit in which global memory is transferred.
const SECTOR_BYTES: u64 = 32;
/// The number of banks of shared memory, each 4 bytes wide.
const BANKS: u64 = 32;
/// The bytes per word of a bank.
const WORD_BYTES: u64 = 4;

/// Counts an access, given the address and the (nonzero) bytes of each lane.
pub(super) fn count(count: &mut LineStatistics, state_space: StateSpace, parts: &[(u64, u64)]) {
    let shared = match state_space {
        StateSpace::Shared => true,
        StateSpace::Global => false,
        StateSpace::Generic => parts.iter().any(|&(at, _)| in_window(at, SHARED_WINDOW)),
        StateSpace::Local | StateSpace::Param => return,
    };
    if shared {
        count.shared_requests += 1;
        count.shared_passes += pass_count(parts);
    } else {
        count.global_requests += 1;
        count.global_sectors +=
            touched_units(parts, SECTOR_BYTES).iter().map(|(a, b)| b - a + 1).sum::<u64>();
    }
}

/// The number of passes through shared memory.
fn pass_count(parts: &[(u64, u64)]) -> u64 {
    let most = parts.iter().map(|(_, bytes)| *bytes).max().unwrap_or(0);
    // Lanes whose words together fill the banks once are served in one pass.
    let together = (BANKS * WORD_BYTES / most.max(WORD_BYTES)).max(1) as usize;
    let of_group = |group: &[(u64, u64)]| {
        let mut banks = [0; BANKS as usize];
        for (first, last) in touched_units(group, WORD_BYTES) {
            let words = last - first + 1;
            banks.iter_mut().for_each(|bank| *bank += words / BANKS);
            for word in first..first + words % BANKS {
                banks[(word % BANKS) as usize] += 1;
            }
        }
        banks.into_iter().max().unwrap_or(0)
    };
    parts.chunks(together).map(of_group).sum()
}

/// The aligned units of `unit` bytes that are touched, as ranges (first, last) that don't overlap.
/// There are never more ranges than parts, however large the parts are.
fn touched_units(parts: &[(u64, u64)], unit: u64) -> Vec<(u64, u64)> {
    let of_part = |&(at, bytes): &(u64, u64)| (at / unit, at.saturating_add(bytes - 1) / unit);
    let mut ranges: Vec<(u64, u64)> = parts.iter().map(of_part).collect();
    ranges.sort_unstable();
    ranges.dedup_by(|next, before| {
        let joined = next.0 <= before.1;
        before.1 = if joined { before.1.max(next.1) } else { before.1 };
        joined
    });
    ranges
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overlapping_units_are_touched_once() {
        assert_eq!(touched_units(&[(0, 4), (4, 4), (28, 8), (96, 1)], 32), [(0, 1), (3, 3)]);
        assert_eq!(touched_units(&[(64, 1), (0, 200), (32, 4)], 32), [(0, 6)]);
        assert_eq!(touched_units(&[(u64::MAX - 3, 16)], 32), [(u64::MAX / 32, u64::MAX / 32)]);
    }

    #[test]
    fn long_copies_are_counted_without_listing_units() {
        let mut counted = LineStatistics::default();
        count(&mut counted, StateSpace::Global, &[(0, 0xffff_fff0)]);
        count(&mut counted, StateSpace::Shared, &[(0, 0xffff_fff0)]);
        assert_eq!((counted.global_requests, counted.global_sectors), (1, 1 << 27));
        assert_eq!((counted.shared_requests, counted.shared_passes), (1, 1 << 25));
    }

    #[test]
    fn banks_conflict_within_a_pass() {
        let rows = |pitch: u64, bytes: u64| (0..32).map(move |lane| (lane * pitch, bytes));
        let passes = |parts: Vec<(u64, u64)>| super::pass_count(&parts);
        assert_eq!(passes(rows(4, 4).collect()), 1);
        assert_eq!(passes(rows(0, 4).collect()), 1);
        assert_eq!(passes(rows(128, 4).collect()), 32);
        assert_eq!(passes(rows(16, 16).collect()), 4);
        assert_eq!(passes(rows(80, 16).collect()), 4);
        assert_eq!(passes(rows(96, 16).collect()), 8);
        assert_eq!(passes(vec![(0, 256)]), 2);
    }
}
