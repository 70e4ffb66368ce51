//! Locks for the protocols between threads. They come from the standard library; in this crate's unit tests, they
//! come from a scheduler that tries different interleavings of the threads.

pub(crate) mod queue;

#[cfg(not(test))]
pub(crate) use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

#[cfg(test)]
pub(crate) use shuttle::sync::{Condvar, Mutex, MutexGuard};
#[cfg(test)]
pub(crate) use std::sync::PoisonError;
