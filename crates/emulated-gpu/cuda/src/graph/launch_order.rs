//! The order of launches in different streams. An executable graph runs only once at a time (CUDA Driver API,
//! `cuGraphLaunch`), and so do graphs that share a condition.

use std::sync::{Arc, Mutex, PoisonError};

use crate::event::Mark;

/// The end of the last launch.
#[derive(Debug, Default)]
pub(crate) struct LaunchOrder(Mutex<Option<Arc<Mark>>>);

impl LaunchOrder {
    /// The mark at the end of the last launch; `None` if it was passed.
    pub(crate) fn last(&self) -> Option<Arc<Mark>> {
        let last = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        last.filter(|mark| mark.passed().is_none())
    }

    /// Adds a launch, with the mark at its end.
    pub(crate) fn add(&self, end: &Arc<Mark>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(end));
    }
}
