//! The order of launches in different streams: an executable graph runs once at a time (CUDA Driver API,
//! `cuGraphLaunch`), and so do the graphs that use one condition.

use std::sync::{Arc, Mutex, PoisonError};

use crate::event::Mark;

/// Where the last launch ends.
#[derive(Debug, Default)]
pub(crate) struct Turns(Mutex<Option<Arc<Mark>>>);

impl Turns {
    /// The end of the last launch, if it has not come there.
    pub(crate) fn last(&self) -> Option<Arc<Mark>> {
        let last = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        last.filter(|mark| mark.passed().is_none())
    }

    /// A launch that ends there has taken its turn.
    pub(crate) fn take(&self, end: &Arc<Mark>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(end));
    }
}
