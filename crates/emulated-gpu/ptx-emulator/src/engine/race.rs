//! racecheck: a race is two accesses by different threads to the same bytes. At least one of them
//! writes, at least one is weak, and neither happens before the other.
//!
//! Vector clocks ([`thread_clocks`], [`clocks`]; Mattern, "Virtual Time and Global States of
//! Distributed Systems", 1989) determine which of two accesses happens before the other (Lamport,
//! "Time, Clocks, and the Ordering of Events in a Distributed System", 1978). For each word of
//! memory, single accesses are recorded instead of a vector clock ([`cell`]; Flanagan and Freund,
//! "FastTrack", PLDI 2009).
//!
//! The rules of ordering are those of the PTX ISA, "Memory Consistency Model", relaxed where
//! NVIDIA's own samples rely on more:
//!
//! - The accesses of one thread are ordered; those of two lanes of a warp are not, although they
//!   run in lockstep.
//! - `bar` and `barrier` order the participating threads: a waiting thread knows what all of them
//!   have done before; threads that only arrive learn nothing.
//! - `bar.warp.sync`, and other `.sync` instructions of a warp, order the lanes in their mask.
//! - A strong write (volatile, relaxed, atomic) publishes what its thread had done before its last
//!   fence; a release publishes everything. A later strong read at that address learns it after a
//!   fence, an acquire, or (as in the sample threadFenceReduction) a barrier. Scopes matter: a
//!   fence or an access with scope `.cta` has no effect on other blocks.
//! - A thread that has waited for a phase of a barrier object (`mbarrier`) knows what the threads
//!   that arrived in it have done, and the copies that completed in it.
//! - A write that a strong read or an atomic operation has observed happens before the reader's
//!   next accesses, even without a fence; this doesn't extend to accesses before that write.
//! - Nothing else orders two blocks. Barriers of a cooperative grid are built from the above.
//! - Consecutive launches are ordered: each starts without recorded accesses.
//!
//! Strong accesses never race with each other if each is in the other's scope, with one exception:
//! two volatile accesses. Formally these are not a data race either, because both are relaxed. But
//! nothing orders them, not even within one thread ("volatile Operation"), so a kernel that uses
//! volatile instead of a barrier or an atomic is wrong (CUDA C++ Programming Guide, "Volatile
//! Qualifier"). A volatile load on which a loop polls is synchronisation, and is not reported
//! ([`polls`](super::lower)).
//! A weak load whose value is used in a compare-and-swap at the same address counts as strong: it
//! is a guess, which the compare-and-swap checks. Formally it is a data race, but one of uniform
//! size, in which the load returns some value that was there (PTX ISA, "Limitations on Mixed-size
//! Data-races"); the CUDA C++ Programming Guide, "Atomic Functions", implements atomic operations
//! in this way.
//! Two lanes that store the same value with the same instruction are not reported: one of the
//! stores is performed (CUDA C++ Programming Guide, "SIMT Architecture"). The write of an
//! asynchronous copy to shared memory counts as a separate thread's until it has been waited for,
//! and so does the read of a copy from shared memory.
//!
//! Some races of asynchronous copies are missed, because copies are performed at once, and their
//! accesses to global memory count as those of the issuing thread. So racecheck doesn't report a
//! thread that overwrites the global source of a copy before the copy is complete, or one that is
//! ordered after the issuing thread and reads the global target before the copy has been waited
//! for. Proxies are not modelled either: a missing `fence.proxy.async` between a store and the bulk
//! copy that reads it is not reported.
//!
//! Each word only records two reads and two writes ([`cell`]), so a race can be missed in a kernel
//! in which some threads are ordered after others. There are no false positives.

mod batch;
mod cell;
mod clocks;
mod detect;
mod event;
mod shadow;
mod thread_clocks;
mod variables;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

pub(super) use self::cell::Effect;
pub(super) use self::clocks::{VectorClock, join};
pub(super) use self::event::Semantics;
pub(crate) use self::shadow::Pool;
pub(super) use self::shadow::Shadow;
pub(super) use self::thread_clocks::{AsyncCopy, ThreadClocks};
use self::variables::Variables;
use crate::program::{Ordering, Scope};
use crate::room::OutOfMemory;

/// The racecheck data that the blocks of a launch share.
#[derive(Debug, Default)]
pub(super) struct Races {
    shadows: Mutex<BTreeMap<u64, Arc<Shadow>>>,
    variables: Variables,
    strong_access_lock: Mutex<()>,
    pool: Pool,
}

impl Races {
    /// The data of a launch on a device with this pool of pages.
    pub(super) fn new(pool: &Pool) -> Self {
        Self { pool: pool.clone(), ..Self::default() }
    }

    /// Locks strong accesses. The lock is held while an access is recorded and performed, so that
    /// accesses are recorded in the order in which they observe each other.
    pub(super) fn lock_strong_accesses(&self) -> MutexGuard<'_, ()> {
        self.strong_access_lock.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The shadow of an allocation, created on first use.
    ///
    /// # Errors
    /// If the host is out of memory.
    pub(super) fn shadow(&self, base: u64, size: u64) -> Result<Arc<Shadow>, OutOfMemory> {
        let mut shadows = self.shadows.lock().unwrap_or_else(PoisonError::into_inner);
        // In a kernel's heap there may have been a block of another size at this address.
        if let Some(shadow) = shadows.get(&base).filter(|shadow| shadow.has_room_for(base, size)) {
            return Ok(Arc::clone(shadow));
        }
        let shadow = Arc::new(Shadow::new(base, size, self.pool.clone())?);
        shadows.insert(base, Arc::clone(&shadow));
        Ok(shadow)
    }

    /// Removes the recorded accesses to a freed block of a kernel's heap: they can't race with
    /// accesses to the next block at that address.
    pub(super) fn clear(&self, base: u64) {
        let shadows = self.shadows.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(shadow) = shadows.get(&base) {
            shadow.clear();
        }
    }

    /// Whether some accesses could not be recorded, because the host is out of memory.
    pub(super) fn is_incomplete(&self) -> bool {
        self.pool.was_exhausted()
    }
}

/// The semantics of an instruction in the memory model.
pub(super) fn semantics(ordering: Ordering, scope: Option<Scope>) -> Semantics {
    let strong = ordering != Ordering::Weak;
    // Volatile is relaxed with system scope.
    let wide = matches!(scope, None | Some(Scope::Gpu | Scope::System));
    let volatile = ordering == Ordering::Volatile;
    Semantics { strong, wide: strong && wide, volatile, asynchronous: false }
}
