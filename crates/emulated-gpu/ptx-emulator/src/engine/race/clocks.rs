//! Vector clocks: for each thread of each block, the clock up to which its accesses are known.
//! Known accesses happen before all later accesses of the thread that knows them. Most components
//! of a block are equal, so only their minimum and the larger components are stored.

use std::collections::BTreeMap;
use std::sync::Arc;

/// The components of one block.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct BlockClock {
    /// The smallest component: accesses of all threads up to this clock are known.
    pub(crate) least: u32,
    /// The larger components as (thread, clock), sorted by thread.
    pub(crate) threads: Vec<(u32, u32)>,
}

impl BlockClock {
    /// Whether the access of a thread at a clock is known.
    pub(crate) fn knows(&self, thread: u32, clock: u32) -> bool {
        clock <= self.least
            || self
                .threads
                .binary_search_by_key(&thread, |&(thread, _)| thread)
                .is_ok_and(|at| clock <= self.threads[at].1)
    }

    /// Joins with another clock (the maximum of each component).
    pub(crate) fn join(&mut self, other: &Self) {
        self.least = self.least.max(other.least);
        let own = std::mem::take(&mut self.threads);
        let (mut left, mut right) = (own.iter().peekable(), other.threads.iter().peekable());
        loop {
            let next = match (left.peek(), right.peek()) {
                (Some(&&(a, at)), Some(&&(b, bt))) if a == b => {
                    left.next();
                    right.next();
                    (a, at.max(bt))
                }
                (Some(&&(a, _)), Some(&&(b, bt))) if a > b => {
                    right.next();
                    (b, bt)
                }
                (Some(&&pair), _) => {
                    left.next();
                    pair
                }
                (None, Some(&&pair)) => {
                    right.next();
                    pair
                }
                (None, None) => break,
            };
            if next.1 > self.least {
                self.threads.push(next);
            }
        }
    }
}

type BlockClocks = BTreeMap<u32, Arc<BlockClock>>;

fn join_block(blocks: &mut BlockClocks, block: u32, of_block: &Arc<BlockClock>) {
    match blocks.get_mut(&block) {
        None => {
            blocks.insert(block, Arc::clone(of_block));
        }
        Some(own) if Arc::ptr_eq(own, of_block) => {}
        Some(own) => Arc::make_mut(own).join(of_block),
    }
}

/// The components of all blocks.
#[derive(Clone, Debug, Default)]
pub(crate) struct VectorClock {
    /// The part that many threads share, so that copies are cheap.
    common: Arc<BlockClocks>,
    /// Additional components.
    blocks: BlockClocks,
}

impl VectorClock {
    /// Whether no accesses are known.
    pub(crate) fn is_empty(&self) -> bool {
        self.common.is_empty() && self.blocks.is_empty()
    }

    /// Whether the access of a thread at a clock is known.
    pub(crate) fn knows(&self, block: u32, thread: u32, clock: u32) -> bool {
        let known = |blocks: &BlockClocks| {
            blocks
                .get(&block)
                .is_some_and(|of_block: &Arc<BlockClock>| of_block.knows(thread, clock))
        };
        known(&self.blocks) || known(&self.common)
    }

    /// Joins with a clock of one block.
    pub(crate) fn join_block(&mut self, block: u32, of_block: &Arc<BlockClock>) {
        join_block(&mut self.blocks, block, of_block);
    }

    /// Joins with another clock.
    pub(crate) fn join(&mut self, other: &Self) {
        if !Arc::ptr_eq(&self.common, &other.common) {
            for (&block, of_block) in other.common.iter() {
                join_block(&mut self.blocks, block, of_block);
            }
        }
        for (&block, of_block) in &other.blocks {
            join_block(&mut self.blocks, block, of_block);
        }
    }

    /// Moves everything into the shared part, except for the block `without`, which is dropped.
    pub(crate) fn move_into_shared(&mut self, without: u32) {
        if !self.blocks.is_empty() {
            let mut all = std::mem::take(&mut self.blocks);
            for (&block, of_block) in self.common.iter() {
                join_block(&mut all, block, of_block);
            }
            all.remove(&without);
            self.common = Arc::new(all);
        }
    }
}

/// Joins with a clock that may not exist yet.
pub(crate) fn join(into: &mut Option<Arc<VectorClock>>, other: &Arc<VectorClock>) {
    match into {
        None => *into = Some(Arc::clone(other)),
        Some(own) if Arc::ptr_eq(own, other) => {}
        Some(own) => Arc::make_mut(own).join(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn join_knows_what_either_knew() {
        let mut one = BlockClock { least: 3, threads: vec![(1, 5), (4, 9)] };
        let other = BlockClock { least: 4, threads: vec![(0, 7), (1, 6), (9, 8)] };
        one.join(&other);
        assert_eq!(one, BlockClock { least: 4, threads: vec![(0, 7), (1, 6), (4, 9), (9, 8)] });
        assert!(one.knows(1, 6) && one.knows(2, 4) && !one.knows(2, 5) && !one.knows(4, 10));
        // Components that are not larger than the minimum are dropped.
        one.join(&BlockClock { least: 8, threads: vec![] });
        assert_eq!(one, BlockClock { least: 8, threads: vec![(4, 9)] });
    }

    #[test]
    fn blocks_have_separate_components() {
        let of_block = |least| Arc::new(BlockClock { least, threads: Vec::new() });
        let mut one = VectorClock::default();
        one.join_block(7, &of_block(3));
        one.move_into_shared(0);
        let mut other = one.clone();
        other.join_block(8, &of_block(5));
        one.join(&other);
        assert!(one.knows(7, 0, 3) && one.knows(8, 0, 5));
        assert!(!one.knows(7, 0, 4) && !one.knows(9, 0, 1));
        one.move_into_shared(7);
        assert!(!one.knows(7, 0, 3) && one.knows(8, 0, 5) && !one.is_empty());
    }
}
