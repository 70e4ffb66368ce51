//! Sums over all launches of an operation.

use std::time::Duration;

use crate::Work;

/// What something is that was put into a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ActivityKind {
    /// A kernel, or what a library computes.
    Kernel,
    /// A copy.
    Copy,
    /// What several GPUs do together.
    Collective,
}

impl ActivityKind {
    /// The track of a trace that it is on, and its name.
    pub(super) const ALL: [(Self, &'static str); 3] =
        [(Self::Kernel, "kernels"), (Self::Copy, "copies"), (Self::Collective, "collectives")];
}

/// One launch, copy or collective.
pub(super) struct Span {
    pub(super) work: Work,
    pub(super) kind: ActivityKind,
    /// Since the first.
    pub(super) start: Duration,
    pub(super) time: Duration,
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
pub(super) struct Totals(Vec<Total>);

impl Totals {
    pub(super) fn add(&mut self, work: Work, kind: ActivityKind, time: Duration) {
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
