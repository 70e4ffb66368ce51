//! Locks: the locks of the standard library or, in this crate's unit tests of lock protocols, the locks of a scheduler
//! that tries different thread orders. Miri has its own scheduler.

#[cfg(any(not(test), miri))]
pub(crate) use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

#[cfg(all(test, not(miri)))]
pub(crate) use shuttle::sync::{Condvar, Mutex, MutexGuard};
#[cfg(all(test, not(miri)))]
pub(crate) use std::sync::PoisonError;
