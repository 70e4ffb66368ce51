//! The cost of a warp's access: sectors of global memory, passes through shared memory.

use super::state_space::{SHARED_WINDOW, StateSpace, in_window};
use crate::statistics::LineStatistics;

/// Bytes of a sector, the unit in which global memory is fetched.
const SECTOR: u64 = 32;
/// Shared memory has as many banks, each 4 bytes wide.
const BANKS: u64 = 32;
/// Bytes of a word of a bank.
const WORD: u64 = 4;

/// An access of lanes, each to an address and this many bytes behind it, which are not 0.
pub(super) fn count(count: &mut LineStatistics, room: StateSpace, parts: &[(u64, u64)]) {
    let shared = match room {
        StateSpace::Shared => true,
        StateSpace::Global => false,
        StateSpace::Generic => parts.iter().any(|&(at, _)| in_window(at, SHARED_WINDOW)),
        StateSpace::Local | StateSpace::Param => return,
    };
    if shared {
        count.shared_requests += 1;
        count.shared_passes += passes(parts);
    } else {
        count.global_requests += 1;
        count.global_sectors += touched(parts, SECTOR).iter().map(|(a, b)| b - a + 1).sum::<u64>();
    }
}

/// Passes through shared memory.
fn passes(parts: &[(u64, u64)]) -> u64 {
    let most = parts.iter().map(|(_, bytes)| *bytes).max().unwrap_or(0);
    // Lanes whose words together fill the banks once go in one pass.
    let together = (BANKS * WORD / most.max(WORD)).max(1) as usize;
    let of_group = |group: &[(u64, u64)]| {
        let mut banks = [0; BANKS as usize];
        for (first, last) in touched(group, WORD) {
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

/// The units of this many bytes that are touched, from the first to the last of those that lie together; none
/// is in two of these. However large the parts are, no more are returned than there are of them.
fn touched(parts: &[(u64, u64)], unit: u64) -> Vec<(u64, u64)> {
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
    fn what_overlaps_is_touched_once() {
        assert_eq!(touched(&[(0, 4), (4, 4), (28, 8), (96, 1)], 32), [(0, 1), (3, 3)]);
        assert_eq!(touched(&[(64, 1), (0, 200), (32, 4)], 32), [(0, 6)]);
        assert_eq!(touched(&[(u64::MAX - 3, 16)], 32), [(u64::MAX / 32, u64::MAX / 32)]);
    }

    #[test]
    fn a_copy_of_any_length_is_counted_without_listing_it() {
        let mut counted = LineStatistics::default();
        count(&mut counted, StateSpace::Global, &[(0, 0xffff_fff0)]);
        count(&mut counted, StateSpace::Shared, &[(0, 0xffff_fff0)]);
        assert_eq!((counted.global_requests, counted.global_sectors), (1, 1 << 27));
        assert_eq!((counted.shared_requests, counted.shared_passes), (1, 1 << 25));
    }

    #[test]
    fn banks_conflict_within_those_that_go_together() {
        let rows = |pitch: u64, bytes: u64| (0..32).map(move |lane| (lane * pitch, bytes));
        let passes = |parts: Vec<(u64, u64)>| super::passes(&parts);
        assert_eq!(passes(rows(4, 4).collect()), 1);
        assert_eq!(passes(rows(0, 4).collect()), 1);
        assert_eq!(passes(rows(128, 4).collect()), 32);
        assert_eq!(passes(rows(16, 16).collect()), 4);
        assert_eq!(passes(rows(80, 16).collect()), 4);
        assert_eq!(passes(rows(96, 16).collect()), 8);
        assert_eq!(passes(vec![(0, 256)]), 2);
    }
}
