//! Release clocks that strong writes have published, by address. A later strong read at that
//! address finds the accesses of the writer before its fence or release. These clocks are for all
//! blocks; clocks that are only visible in a block are stored with the block's threads.
//!
//! A writer publishes before it writes, and a reader looks after it has read, so no ordering is
//! missed. Published clocks are kept even if the address is overwritten later.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::clocks::{VectorClock, join};

/// The number of locks; several, so that host threads rarely wait for each other.
const SHARDS: usize = 16;

/// Published clocks, by address.
pub(crate) type Published = HashMap<u64, Option<Arc<VectorClock>>>;

/// The published clocks. See the module's comment.
#[derive(Debug, Default)]
pub(crate) struct Variables {
    /// Whether anything has been published; most kernels never do.
    has_published: AtomicBool,
    shards: [Mutex<Published>; SHARDS],
}

impl Variables {
    fn shard(&self, address: u64) -> MutexGuard<'_, Published> {
        let shard = &self.shards[(address >> 2) as usize % SHARDS];
        shard.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn publish(&self, address: u64, clocks: &Arc<VectorClock>) {
        join(self.shard(address).entry(address).or_default(), clocks);
        self.has_published.store(true, Ordering::Release);
    }

    pub(crate) fn find(&self, address: u64) -> Option<Arc<VectorClock>> {
        if !self.has_published.load(Ordering::Acquire) {
            return None;
        }
        self.shard(address).get(&address).cloned().flatten()
    }
}
