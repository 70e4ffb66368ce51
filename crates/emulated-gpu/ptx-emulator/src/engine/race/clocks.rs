//! What a thread knows of others: for each block, up to when it knows the accesses of all its
//! threads, and of which of them it knows more.

use std::collections::BTreeMap;
use std::sync::Arc;

/// What is known of one block.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct View {
    /// Accesses of all threads up to this clock.
    pub(crate) floor: u32,
    /// Threads of which more is known, and up to which clock; by thread.
    pub(crate) threads: Vec<(u32, u32)>,
}

impl View {
    /// Whether it knows what a thread did at a clock.
    pub(crate) fn knows(&self, thread: u32, clock: u32) -> bool {
        clock <= self.floor
            || self
                .threads
                .binary_search_by_key(&thread, |&(thread, _)| thread)
                .is_ok_and(|at| clock <= self.threads[at].1)
    }

    /// Takes over what another knows.
    pub(crate) fn join(&mut self, other: &Self) {
        self.floor = self.floor.max(other.floor);
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
            if next.1 > self.floor {
                self.threads.push(next);
            }
        }
    }
}

type Views = BTreeMap<u32, Arc<View>>;

fn join_view(views: &mut Views, block: u32, view: &Arc<View>) {
    match views.get_mut(&block) {
        None => {
            views.insert(block, Arc::clone(view));
        }
        Some(own) if Arc::ptr_eq(own, view) => {}
        Some(own) => Arc::make_mut(own).join(view),
    }
}

/// What is known of all blocks.
#[derive(Clone, Debug, Default)]
pub(crate) struct Clocks {
    /// What many share, of other blocks: so that a copy costs little.
    common: Arc<Views>,
    /// What goes beyond it.
    views: Views,
}

impl Clocks {
    /// Whether nothing is known of anybody.
    pub(crate) fn is_empty(&self) -> bool {
        self.common.is_empty() && self.views.is_empty()
    }

    /// Whether it knows what a thread of a block did at a clock.
    pub(crate) fn knows(&self, block: u32, thread: u32, clock: u32) -> bool {
        let known = |views: &Views| {
            views.get(&block).is_some_and(|view: &Arc<View>| view.knows(thread, clock))
        };
        known(&self.views) || known(&self.common)
    }

    /// Takes over what is known of a block.
    pub(crate) fn join_view(&mut self, block: u32, view: &Arc<View>) {
        join_view(&mut self.views, block, view);
    }

    /// Takes over what another knows.
    pub(crate) fn join(&mut self, other: &Self) {
        if !Arc::ptr_eq(&self.common, &other.common) {
            for (&block, view) in other.common.iter() {
                join_view(&mut self.views, block, view);
            }
        }
        for (&block, view) in &other.views {
            join_view(&mut self.views, block, view);
        }
    }

    /// Everything is shared from now on, and nothing is kept of a block.
    pub(crate) fn settle(&mut self, without: u32) {
        if !self.views.is_empty() {
            let mut all = std::mem::take(&mut self.views);
            for (&block, view) in self.common.iter() {
                join_view(&mut all, block, view);
            }
            all.remove(&without);
            self.common = Arc::new(all);
        }
    }
}

/// Joins into what may not be there yet.
pub(crate) fn join(into: &mut Option<Arc<Clocks>>, other: &Arc<Clocks>) {
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
    fn a_join_knows_what_either_knew() {
        let mut one = View { floor: 3, threads: vec![(1, 5), (4, 9)] };
        let other = View { floor: 4, threads: vec![(0, 7), (1, 6), (9, 8)] };
        one.join(&other);
        assert_eq!(one, View { floor: 4, threads: vec![(0, 7), (1, 6), (4, 9), (9, 8)] });
        assert!(one.knows(1, 6) && one.knows(2, 4) && !one.knows(2, 5) && !one.knows(4, 10));
        // What is below the floor needs no mention.
        one.join(&View { floor: 8, threads: vec![] });
        assert_eq!(one, View { floor: 8, threads: vec![(4, 9)] });
    }

    #[test]
    fn blocks_are_known_apart() {
        let view = |floor| Arc::new(View { floor, threads: Vec::new() });
        let mut one = Clocks::default();
        one.join_view(7, &view(3));
        one.settle(0);
        let mut other = one.clone();
        other.join_view(8, &view(5));
        one.join(&other);
        assert!(one.knows(7, 0, 3) && one.knows(8, 0, 5));
        assert!(!one.knows(7, 0, 4) && !one.knows(9, 0, 1));
        one.settle(7);
        assert!(!one.knows(7, 0, 3) && one.knows(8, 0, 5) && !one.is_empty());
    }
}
