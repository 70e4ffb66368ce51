//! Sums over all launches of an operation.

use std::time::Duration;

use crate::Work;

/// One launch or copy.
pub(super) struct Span {
    pub(super) work: Work,
    pub(super) is_copy: bool,
    /// Since the first.
    pub(super) start: Duration,
    pub(super) time: Duration,
}

/// What was done for one operation, or one kind of copy.
#[derive(Clone, Debug)]
pub struct Total {
    /// The operation, or where a copy goes.
    pub name: &'static str,
    /// Whether it is a copy.
    pub is_copy: bool,
    /// Launches, or copies.
    pub launches: usize,
    /// Bytes of their arguments.
    pub bytes: usize,
    /// Floating-point operations.
    pub flops: usize,
    /// The time between the events around them.
    pub time: Duration,
}

/// All of them, in the order in which they first came.
#[derive(Clone, Debug, Default)]
pub(super) struct Totals(Vec<Total>);

impl Totals {
    pub(super) fn add(&mut self, work: Work, is_copy: bool, time: Duration) {
        let Work { operation: name, bytes, flops } = work;
        match self.0.iter_mut().find(|total| total.name == name && total.is_copy == is_copy) {
            Some(total) => {
                total.launches += 1;
                total.bytes += bytes;
                total.flops += flops;
                total.time += time;
            }
            None => self.0.push(Total { name, is_copy, launches: 1, bytes, flops, time }),
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Total> {
        self.0.iter()
    }

    /// The largest first.
    pub(super) fn sorted_by(&self, key: impl Fn(&Total) -> u128) -> Vec<&Total> {
        let mut list: Vec<&Total> = self.0.iter().collect();
        list.sort_by_key(|total| std::cmp::Reverse(key(total)));
        list
    }
}
