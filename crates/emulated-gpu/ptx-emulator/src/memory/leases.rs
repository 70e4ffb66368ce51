//! Leases on host pointers into device memory. Work takes a lease before it looks into the table of
//! allocations, and ends it when it no longer uses any pointer. Memory that was removed from the
//! table is returned to the host only after all leases that began before its removal have ended;
//! later leases can't have found it.
//!
//! Numbering the leases makes this correct under any interleaving of threads: memory is first
//! removed from the table, and then stamped with the number of the next lease. So only leases with
//! lower numbers can have found it.

use std::collections::BTreeSet;

use crate::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// The leases on the memory of the devices.
#[derive(Debug, Default)]
pub(super) struct Leases {
    state: Mutex<LeaseState>,
    ended: Condvar,
}

#[derive(Debug, Default)]
struct LeaseState {
    next: u64,
    active: BTreeSet<u64>,
}

impl LeaseState {
    /// Whether a lease with a number below `number` is still active.
    fn is_used_before(&self, number: u64) -> bool {
        self.active.first().is_some_and(|&oldest| oldest < number)
    }
}

impl Leases {
    fn state(&self) -> MutexGuard<'_, LeaseState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins a lease and returns its number.
    pub(super) fn begin(&self) -> u64 {
        let mut state = self.state();
        let number = state.next;
        state.next += 1;
        state.active.insert(number);
        number
    }

    /// Ends a lease.
    pub(super) fn end(&self, number: u64) {
        self.state().active.remove(&number);
        self.ended.notify_all();
    }

    /// The number of the next lease. To be read after memory was removed from the table.
    pub(super) fn next(&self) -> u64 {
        self.state().next
    }

    /// Whether no lease is active.
    pub(super) fn is_idle(&self) -> bool {
        self.state().active.is_empty()
    }

    /// The number of the oldest active lease: all leases with a lower number have ended.
    pub(super) fn oldest(&self) -> u64 {
        let state = self.state();
        state.active.first().copied().unwrap_or(state.next)
    }

    /// Waits until all leases with a number below `number` have ended. The function doesn't wait
    /// for later leases, so it returns even if new work keeps starting.
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

    /// The number of thread interleavings that are tried.
    const INTERLEAVINGS: usize = 2000;

    /// A model of one allocation: `is_out` if removed from the table, `is_gone` if returned to the
    /// host.
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

        /// Looks for the memory, and uses it some time later.
        fn work(&self) {
            let number = self.leases.begin();
            let found = !*self.is_out.lock().unwrap();
            thread::yield_now();
            assert!(
                !found || !self.is_gone.load(Ordering::SeqCst),
                "used after it was returned to the host"
            );
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
    fn memory_is_unused_after_waiting_for_leases() {
        let wait = || {
            with_workers(|model| {
                let number = model.take_out();
                model.leases.wait_for_those_before(number);
                model.is_gone.store(true, Ordering::SeqCst);
            });
        };
        shuttle::check_random(wait, INTERLEAVINGS);
        shuttle::check_pct(wait, INTERLEAVINGS, 3);
    }

    #[test]
    fn memory_older_than_all_leases_is_unused() {
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
        shuttle::check_random(try_it, INTERLEAVINGS);
        shuttle::check_pct(try_it, INTERLEAVINGS, 3);
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
