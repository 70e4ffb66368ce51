//! Sums over all launches of each operation.

use std::time::Duration;

use gpu::{ActivityKind, Work};

/// One launch, copy or collective.
pub(crate) struct Span {
    pub(crate) work: Work,
    pub(crate) kind: ActivityKind,
    /// Time since the start of the first activity.
    pub(crate) start: Duration,
    pub(crate) time: Duration,
}

/// The sums over all launches of one operation, or over one kind of copy.
#[derive(Clone, Debug)]
pub struct Total {
    /// The name of the operation, or the destination of a copy.
    pub name: &'static str,
    /// The kind of activity.
    pub kind: ActivityKind,
    /// Launches, or copies.
    pub launches: usize,
    /// The total size of the launches' arguments in bytes.
    pub bytes: usize,
    /// Floating-point operations.
    pub flops: usize,
    /// The total time between the events before and after each launch.
    pub time: Duration,
}

/// The totals of all operations, in order of their first launch.
#[derive(Clone, Debug, Default)]
pub(crate) struct Totals(Vec<Total>);

impl Totals {
    pub(crate) fn add(&mut self, work: Work, kind: ActivityKind, time: Duration) {
        let Work { operation: name, bytes, flops } = work;
        match self.0.iter_mut().find(|total| total.name == name && total.kind == kind) {
            Some(total) => {
                total.launches += 1;
                total.bytes += bytes;
                total.flops += flops;
                total.time += time;
            }
            None => self.0.push(Total { name, kind, launches: 1, bytes, flops, time }),
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Total> {
        self.0.iter()
    }

    /// All totals in descending order of `key`.
    pub(crate) fn sorted_by(&self, key: impl Fn(&Total) -> u128) -> Vec<&Total> {
        let mut list: Vec<&Total> = self.0.iter().collect();
        list.sort_by_key(|total| std::cmp::Reverse(key(total)));
        list
    }
}
