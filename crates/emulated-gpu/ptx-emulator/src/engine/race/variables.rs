//! Release clocks that strong writes have published, by address: whoever reads it strongly finds
//! what the writer had closed off with a fence or a release. This is for all blocks; what is only for
//! one's own block is kept with its threads.
//!
//! A writer publishes before it writes and a reader looks after it has read, so that no order is
//! missed. What is published stays, also when something else is written there later.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::clocks::{VectorClock, join};

/// Locks, so that host threads seldom wait for each other.
const SHARDS: usize = 16;

/// By address.
pub(crate) type Published = HashMap<u64, Option<Arc<VectorClock>>>;

/// See the module's comment.
#[derive(Debug, Default)]
pub(crate) struct Variables {
    /// Something has been published; most kernels never do.
    any: AtomicBool,
    shards: [Mutex<Published>; SHARDS],
}

impl Variables {
    fn shard(&self, address: u64) -> MutexGuard<'_, Published> {
        let shard = &self.shards[(address >> 2) as usize % SHARDS];
        shard.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn publish(&self, address: u64, clocks: &Arc<VectorClock>) {
        join(self.shard(address).entry(address).or_default(), clocks);
        self.any.store(true, Ordering::Release);
    }

    pub(crate) fn find(&self, address: u64) -> Option<Arc<VectorClock>> {
        if !self.any.load(Ordering::Acquire) {
            return None;
        }
        self.shard(address).get(&address).cloned().flatten()
    }
}
