//! Sums over all launches of an operation.

use std::time::Duration;

use gpu::{ActivityKind, Work};

/// One launch, copy or collective.
pub(crate) struct Span {
    pub(crate) work: Work,
    pub(crate) kind: ActivityKind,
    /// Since the first.
    pub(crate) start: Duration,
    pub(crate) time: Duration,
}

/// What was done for one operation, or one kind of copy.
#[derive(Clone, Debug)]
pub struct Total {
    /// The operation, or where a copy goes.
    pub name: &'static str,
    /// What it is.
    pub kind: ActivityKind,
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

    /// The largest first.
    pub(crate) fn sorted_by(&self, key: impl Fn(&Total) -> u128) -> Vec<&Total> {
        let mut list: Vec<&Total> = self.0.iter().collect();
        list.sort_by_key(|total| std::cmp::Reverse(key(total)));
        list
    }
}
