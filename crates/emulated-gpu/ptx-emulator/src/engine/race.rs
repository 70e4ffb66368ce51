//! racecheck: two threads access the same bytes, at least one of them writes, at least one of the
//! two accesses is weak, and nothing orders them.
//!
//! Which of two accesses happens before the other (Lamport, "Time, Clocks, and the Ordering of Events in a
//! Distributed System", 1978) is told by vector clocks ([`thread_clocks`], [`clocks`]; Mattern, "Virtual Time
//! and Global States of Distributed Systems", 1989), and a word remembers single accesses beside them
//! instead of a clock of its own ([`cell`]; Flanagan and Freund, "FastTrack", PLDI 2009).
//!
//! What orders (PTX ISA, "Memory Consistency Model"; where it leaves a kernel no right that NVIDIA's
//! own samples rely on, the samples win):
//!
//! - One thread's accesses are in order; those of two lanes of a warp are not, though they run in
//!   lockstep.
//! - `bar` and `barrier` order the threads that take part: those that wait know what all have done,
//!   those that only arrive are known.
//! - `bar.warp.sync`, and the other `.sync` instructions of a warp, order the lanes of their mask.
//! - A strong write (volatile, relaxed, atomic) tells those who strongly read there later what its
//!   thread had closed off with a fence before; a release tells everything. The reader knows it
//!   after a fence, an acquire, or (as in the sample threadFenceReduction) a barrier. Scopes count:
//!   a fence or an access of `.cta` tells other blocks nothing.
//! - Who has waited for a phase of a barrier object (`mbarrier`) knows what those have done who arrived
//!   in it, and the copies that it counted.
//! - What a strong read or an atomic operation has observed precedes what its thread does next, even
//!   without a fence: the observed write itself, not what came before it.
//! - Nothing else orders two blocks. A barrier of a cooperative grid is made of the above.
//! - One launch comes after the other: each begins with nothing accessed.
//!
//! Atomic and other strong accesses never race with each other, where each is in the other's scope, but for
//! two volatile ones. By the letter these are no data race either, for both are relaxed; but nothing orders
//! them, not even those of one thread ("volatile Operation"), so a kernel that relies on volatile in place of a
//! barrier or an atomic is wrong (CUDA C++ Programming Guide, "Volatile Qualifier"). A volatile load that a loop
//! waits for is synchronisation, and is let pass ([`polls`](super::lower)).
//! A weak load whose value goes into a compare-and-swap of the same address counts as strong: it is a
//! guess, which the compare-and-swap checks. It is a data race all the same, but one of a single size,
//! which gives some value that was there (PTX ISA, "Limitations on Mixed-size Data-races"); the CUDA C++
//! Programming Guide, "Atomic Functions", writes atomic operations so.
//! Two lanes that store the same value with the same instruction are let pass: one of them is
//! performed (CUDA C++ Programming Guide, "SIMT Architecture"). The write of an asynchronous copy to shared
//! memory is one of a thread of its own until it has been waited for, and so is the read of one from there.
//!
//! What isn't seen of asynchronous copies, since they are done at once: their side in global memory counts as
//! an access of the thread that asks for them. So no thread is reported that overwrites the global source of a
//! copy before it has come, or that, being ordered behind the one that asked, reads the global target of a copy
//! that has not been waited for. And the proxies are one: a `fence.proxy.async` that is missing between a store
//! and the bulk copy that reads it is not missed.
//!
//! A word remembers two reads and two writes ([`cell`]), so a kernel in which some threads wait for
//! some others can hide a race from it. What it reports is one.

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

pub(super) use self::cell::Does;
pub(super) use self::clocks::{VectorClock, join};
pub(super) use self::event::Semantics;
pub(crate) use self::shadow::Pool;
pub(super) use self::shadow::Shadow;
pub(super) use self::thread_clocks::{Copied, ThreadClocks};
use self::variables::Variables;
use crate::program::{Ordering, Scope};
use crate::room::OutOfMemory;

/// What the blocks of a launch share.
#[derive(Debug, Default)]
pub(super) struct Races {
    shadows: Mutex<BTreeMap<u64, Arc<Shadow>>>,
    variables: Variables,
    turn: Mutex<()>,
    pool: Pool,
}

impl Races {
    /// Of a launch on a device whose pages are these.
    pub(super) fn new(pool: &Pool) -> Self {
        Self { pool: pool.clone(), ..Self::default() }
    }

    /// Held while strong accesses are remembered and done, so that they are remembered in the order
    /// in which they observe each other.
    pub(super) fn in_turn(&self) -> MutexGuard<'_, ()> {
        self.turn.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The shadow of an allocation.
    ///
    /// # Errors
    /// When the host has not the room for it.
    pub(super) fn shadow(&self, base: u64, size: u64) -> Result<Arc<Shadow>, OutOfMemory> {
        let mut shadows = self.shadows.lock().unwrap_or_else(PoisonError::into_inner);
        // A kernel's heap may have given out a block of another size there.
        if let Some(shadow) = shadows.get(&base).filter(|shadow| shadow.holds(base, size)) {
            return Ok(Arc::clone(shadow));
        }
        let shadow = Arc::new(Shadow::new(base, size, self.pool.clone())?);
        shadows.insert(base, Arc::clone(&shadow));
        Ok(shadow)
    }

    /// Forgets who has accessed a block of a kernel's heap: whoever gets it next has nothing to do
    /// with them.
    pub(super) fn forget(&self, base: u64) {
        let shadows = self.shadows.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(shadow) = shadows.get(&base) {
            shadow.clear();
        }
    }

    /// Whether there was no room to remember all accesses.
    pub(super) fn lost_some(&self) -> bool {
        self.pool.was_exhausted()
    }
}

/// How an instruction takes part in the memory model.
pub(super) fn semantics(ordering: Ordering, scope: Option<Scope>) -> Semantics {
    let strong = ordering != Ordering::Weak;
    // Volatile is relaxed with the scope of the system.
    let wide = matches!(scope, None | Some(Scope::Gpu | Scope::System));
    let volatile = ordering == Ordering::Volatile;
    Semantics { strong, wide: strong && wide, volatile, asynchronous: false }
}
