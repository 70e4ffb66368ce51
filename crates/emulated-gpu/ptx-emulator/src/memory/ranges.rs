//! A set of addresses, stored as disjoint ranges.

use std::collections::BTreeMap;

/// Ranges that neither overlap nor touch: a map from start to end.
#[derive(Debug, Default)]
pub(super) struct Ranges(BTreeMap<u64, u64>);

impl Ranges {
    /// Adds a range to the set.
    pub(super) fn add(&mut self, mut start: u64, mut end: u64) {
        let touching: Vec<_> =
            self.0.range(..=end).filter(|&(_, &to)| to >= start).map(|(&from, _)| from).collect();
        for from in touching {
            if let Some(to) = self.0.remove(&from) {
                (start, end) = (start.min(from), end.max(to));
            }
        }
        if start < end {
            self.0.insert(start, end);
        }
    }

    /// Removes a range from the set.
    pub(super) fn remove(&mut self, start: u64, end: u64) {
        for (from, to) in self.inside(start, end) {
            let Some((&first, &last)) = self.0.range(..=from).next_back() else { continue };
            self.0.remove(&first);
            self.add(first, from);
            self.add(to, last);
        }
    }

    /// The parts of a range that are in the set.
    pub(super) fn inside(&self, start: u64, end: u64) -> Vec<(u64, u64)> {
        let before = self.0.range(..start).next_back().map_or(start, |(&from, _)| from);
        let parts = self.0.range(before..end).map(|(&from, &to)| (from.max(start), to.min(end)));
        parts.filter(|(from, to)| from < to).collect()
    }

    /// The parts of a range that are not in the set.
    pub(super) fn outside(&self, start: u64, end: u64) -> Vec<(u64, u64)> {
        let mut at = start;
        let mut gaps = Vec::new();
        for (from, to) in self.inside(start, end) {
            gaps.push((at, from));
            at = to;
        }
        gaps.push((at, end));
        gaps.retain(|(from, to)| from < to);
        gaps
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_equal_a_set_of_addresses() {
        const LEN: u64 = 40;
        let mut state = 7u64;
        let mut number = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695);
            (state >> 33) % below
        };
        let mut ranges = Ranges::default();
        let mut model = [false; LEN as usize];
        for _ in 0..2000 {
            let (one, two) = (number(LEN + 1), number(LEN + 1));
            let (start, end) = (one.min(two), one.max(two));
            let adds = number(2) == 0;
            if adds {
                ranges.add(start, end)
            } else {
                ranges.remove(start, end)
            }
            model[start as usize..end as usize].fill(adds);
            let (from, to) = (number(20), 20 + number(21));
            let members = |parts: Vec<(u64, u64)>| {
                parts.into_iter().flat_map(|(from, to)| from..to).collect::<Vec<_>>()
            };
            let expected =
                |wanted| (from..to).filter(|&at| model[at as usize] == wanted).collect::<Vec<_>>();
            assert_eq!(members(ranges.inside(from, to)), expected(true));
            assert_eq!(members(ranges.outside(from, to)), expected(false));
            let list: Vec<_> = ranges.0.iter().map(|(&from, &to)| (from, to)).collect();
            assert!(list.iter().all(|(from, to)| from < to));
            assert!(list.windows(2).all(|two| two[0].1 < two[1].0), "{list:?}");
        }
    }
}
