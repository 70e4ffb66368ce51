//! Leases on host pointers into device memory. Work takes a lease before it asks the table of
//! allocations, and gives it back when it uses no pointer any longer. What leaves the table is given
//! to the host only when every lease that began before that has ended: a later one can't find it.
//!
//! This holds whatever threads do at the same time, because leases are numbered: memory that is taken
//! out of the table, and only then stamped with the number of the next lease, can have been found by
//! leases of lower numbers alone.

use std::collections::BTreeSet;

use crate::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// The leases of one device's memory.
#[derive(Debug, Default)]
pub(super) struct Leases {
    state: Mutex<State>,
    ended: Condvar,
}

#[derive(Debug, Default)]
struct State {
    next: u64,
    begun: BTreeSet<u64>,
}

impl State {
    /// Whether a lease with a number below that one has not ended.
    fn is_used_before(&self, number: u64) -> bool {
        self.begun.first().is_some_and(|&oldest| oldest < number)
    }
}

impl Leases {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins a lease: its number.
    pub(super) fn begin(&self) -> u64 {
        let mut state = self.state();
        let number = state.next;
        state.next += 1;
        state.begun.insert(number);
        number
    }

    /// Ends one.
    pub(super) fn end(&self, number: u64) {
        self.state().begun.remove(&number);
        self.ended.notify_all();
    }

    /// The number of the next lease. To be asked for after something was taken out of the table.
    pub(super) fn next(&self) -> u64 {
        self.state().next
    }

    /// Whether none has begun that has not ended.
    pub(super) fn are_none(&self) -> bool {
        self.state().begun.is_empty()
    }

    /// All leases with a number below this one have ended.
    pub(super) fn oldest(&self) -> u64 {
        let state = self.state();
        state.begun.first().copied().unwrap_or(state.next)
    }

    /// Waits until all leases with a number below that one have ended. Later ones are not waited
    /// for, so that this ends however much work follows.
    pub(super) fn wait_for_those_before(&self, number: u64) {
        let mut state = self.state();
        while state.is_used_before(number) {
            state = self.ended.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

#[cfg(all(test, not(miri)))]
mod tests {
    use std::sync::Arc;

    use shuttle::sync::atomic::{AtomicBool, Ordering};
    use shuttle::thread;

    use super::*;

    /// How many orders of the threads are tried.
    const ORDERS: usize = 2000;

    /// Memory that is in a table, and there, or not.
    #[derive(Default)]
    struct Model {
        leases: Leases,
        is_gone: AtomicBool,
        is_out: Mutex<bool>,
    }

    impl Model {
        fn take_out(&self) -> u64 {
            *self.is_out.lock().unwrap() = true;
            self.leases.next()
        }

        /// Finds it, and uses it some time later.
        fn work(&self) {
            let number = self.leases.begin();
            let found = !*self.is_out.lock().unwrap();
            thread::yield_now();
            assert!(!found || !self.is_gone.load(Ordering::SeqCst), "used after it was given back");
            self.leases.end(number);
        }
    }

    fn with_workers(f: fn(&Model)) {
        let model = Arc::new(Model::default());
        let workers: Vec<_> = (0..2)
            .map(|_| {
                let model = Arc::clone(&model);
                thread::spawn(move || (0..2).for_each(|_| model.work()))
            })
            .collect();
        f(&model);
        workers.into_iter().for_each(|worker| worker.join().unwrap());
    }

    #[test]
    fn what_is_waited_for_is_used_by_nobody() {
        let wait = || {
            with_workers(|model| {
                let number = model.take_out();
                model.leases.wait_for_those_before(number);
                model.is_gone.store(true, Ordering::SeqCst);
            });
        };
        shuttle::check_random(wait, ORDERS);
        shuttle::check_pct(wait, ORDERS, 3);
    }

    #[test]
    fn what_goes_back_without_waiting_is_used_by_nobody() {
        let try_it = || {
            with_workers(|model| {
                let number = model.take_out();
                for _ in 0..3 {
                    if model.leases.oldest() >= number {
                        model.is_gone.store(true, Ordering::SeqCst);
                        return;
                    }
                    thread::yield_now();
                }
            });
        };
        shuttle::check_random(try_it, ORDERS);
        shuttle::check_pct(try_it, ORDERS, 3);
    }

    #[test]
    fn later_leases_are_not_waited_for() {
        shuttle::check_random(
            || {
                let leases = Leases::default();
                let first = leases.begin();
                let number = leases.next();
                let second = leases.begin();
                leases.end(first);
                leases.wait_for_those_before(number);
                assert_eq!(leases.oldest(), second);
                leases.end(second);
                assert_eq!(leases.oldest(), leases.next());
            },
            1,
        );
    }
}
