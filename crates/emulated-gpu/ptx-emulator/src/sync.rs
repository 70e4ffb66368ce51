//! Locks, from the standard library, or, in this crate's own unit tests of the protocols that are
//! built on them, from a scheduler that tries the orders in which threads may come. Miri has its own.

#[cfg(any(not(test), miri))]
pub(crate) use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

#[cfg(all(test, not(miri)))]
pub(crate) use shuttle::sync::{Condvar, Mutex, MutexGuard};
#[cfg(all(test, not(miri)))]
pub(crate) use std::sync::PoisonError;
