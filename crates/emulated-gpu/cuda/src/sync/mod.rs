//! Locks of the protocols between threads: from the standard library, or, in this crate's own unit
//! tests, from a scheduler that tries the orders in which threads may come.

pub(crate) mod queue;

#[cfg(not(test))]
pub(crate) use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

#[cfg(test)]
pub(crate) use shuttle::sync::{Condvar, Mutex, MutexGuard};
#[cfg(test)]
pub(crate) use std::sync::PoisonError;
