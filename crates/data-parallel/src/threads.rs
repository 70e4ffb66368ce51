//! Ranks as threads of one process, each with a GPU.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use gpu::Gpu;
use training::{Error, Result};

use crate::adapter::{DataParallel, Reduction, install};
use crate::communicator::{Communicator, Id, new_id};
use crate::level::DeviceLevel;
use crate::rank::Rank;

/// The stack size of a rank's thread, the default of a main thread.
const STACK_BYTES: usize = 8 << 20;

/// A function that makes a rank's level on the device whose index is the rank's number.
pub type Make<'a, L> = &'a (dyn Fn(Rank) -> Result<L> + Sync);
/// A function that does one rank's work.
pub type EachRank<'a, L> = &'a (dyn Fn(&mut DataParallel<L>) -> Result<()> + Sync);

/// Runs `work` on `ranks` GPUs of this machine. Each rank is a thread with its own GPU; `gpu` is one of the GPUs.
///
/// # Errors
/// If a rank fails. The error is the first failure that isn't a consequence of another rank's failure.
pub fn on_gpus<L: DeviceLevel>(
    gpu: &Gpu,
    ranks: usize,
    reduction: Reduction,
    make: Make<'_, L>,
    work: EachRank<'_, L>,
) -> Result<()> {
    install(gpu)?;
    let id = new_id()?;
    let group = RankGroup { world_size: ranks, state: Mutex::default(), changed: Condvar::new() };
    let results: Vec<Result<(), Failure>> = thread::scope(|scope| {
        let start = |rank| {
            let group = &group;
            let place = Rank { rank, world_size: ranks };
            let builder =
                thread::Builder::new().name(format!("rank {rank}")).stack_size(STACK_BYTES);
            let started =
                builder.spawn_scoped(scope, move || group.rank(place, id, reduction, make, work));
            // If a thread can't be started, the other ranks must not wait for its rank.
            started.inspect_err(|_| group.end(true))
        };
        let threads: Vec<_> = (0..ranks).map(start).collect();
        let joined = |thread: std::io::Result<thread::ScopedJoinHandle<'_, _>>| match thread {
            Ok(thread) => thread.join().unwrap_or_else(|_| Err(Failure::panic())),
            Err(error) => Err(Failure::of_this_rank(Error::level(error))),
        };
        threads.into_iter().map(joined).collect()
    });
    first_failure(results)
}

/// The reason why a rank has ended early.
struct Failure {
    /// Whether the rank itself failed; otherwise it ended because another rank is lost.
    own: bool,
    error: Error,
}

impl Failure {
    fn of_this_rank(error: impl Into<Error>) -> Self {
        Self { own: true, error: error.into() }
    }

    fn panic() -> Self {
        Self::of_this_rank(Error::level("a rank panicked, as reported above"))
    }

    fn lost() -> Self {
        Self { own: false, error: Error::level(crate::Error::Lost) }
    }
}

/// The failure to report: the first rank that failed itself.
fn first_failure(results: Vec<Result<(), Failure>>) -> Result<()> {
    let all = results.len();
    let failures =
        results.into_iter().enumerate().filter_map(|(rank, result)| Some((rank, result.err()?)));
    let (mut own, others): (Vec<_>, Vec<_>) = failures.partition(|(_, failure)| failure.own);
    let text = |(_, failure): &(usize, Failure)| failure.error.to_string();
    let alike = own.len() == all && own.iter().all(|one| text(one) == text(&own[0]));
    let first = if own.is_empty() { others.into_iter().next() } else { Some(own.swap_remove(0)) };
    match first {
        None => Ok(()),
        // If every rank failed alike, report it without a rank. A closed stdout (`| head`) is not a rank's
        // failure either.
        Some((_, Failure { error, .. })) if alike || matches!(error, Error::Output(_)) => {
            Err(error)
        }
        Some((rank, Failure { error, .. })) => Err(of_rank(rank, error)),
    }
}

/// The error of one of several ranks, with the rank's number.
pub(crate) fn of_rank(rank: usize, error: Error) -> Error {
    Error::Copy { copy: format!("rank {rank}"), error: error.into() }
}

/// The state that the ranks of a process share.
struct RankGroup {
    world_size: usize,
    state: Mutex<GroupState>,
    changed: Condvar,
}

#[derive(Default)]
struct GroupState {
    /// The number of ranks that have made their levels.
    ready: usize,
    /// The number of ranks that have ended.
    ended: usize,
    /// Whether a rank has failed.
    failed: bool,
    /// The communicators to abort when a rank fails.
    communicators: Vec<Arc<Communicator>>,
}

impl RankGroup {
    fn state(&self) -> MutexGuard<'_, GroupState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until the condition holds.
    fn wait(&self, condition: impl Fn(&GroupState) -> bool) -> MutexGuard<'_, GroupState> {
        let waited = self.changed.wait_while(self.state(), |state| !condition(state));
        waited.unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs one rank from beginning to end.
    fn rank<L: DeviceLevel>(
        &self,
        place: Rank,
        id: Id,
        reduction: Reduction,
        make: Make<'_, L>,
        work: EachRank<'_, L>,
    ) -> Result<(), Failure> {
        // Keeps the level until all ranks have ended, because other ranks may still read from its buffers.
        let mut kept = None;
        let result = catch_unwind(AssertUnwindSafe(|| {
            let level = make(place).map_err(Failure::of_this_rank)?;
            self.state().ready += 1;
            self.changed.notify_all();
            // Joining waits for all ranks, so no rank joins unless all are ready.
            let is_decided = |state: &GroupState| state.failed || state.ready == self.world_size;
            if self.wait(is_decided).ready < self.world_size {
                return Err(Failure::lost());
            }
            let (level, joined) =
                DataParallel::join(level, id, place, reduction).map_err(Failure::of_this_rank)?;
            self.register(&joined);
            let done = work(kept.insert(level));
            let lost = joined.is_lost();
            match done {
                Ok(()) if lost => Err(Failure::lost()),
                done => done.map_err(|error| Failure { own: !lost, error }),
            }
        }));
        let result = result.unwrap_or_else(|_| Err(Failure::panic()));
        self.end(result.is_err());
        // Now each rank holds the last reference to its communicator, and destroys it in its own thread.
        self.wait(|state| state.ended == self.world_size).communicators.clear();
        result
    }

    /// Registers a communicator to be aborted if a rank fails.
    fn register(&self, communicator: &Arc<Communicator>) {
        let mut state = self.state();
        state.communicators.push(Arc::clone(communicator));
        if state.failed {
            drop(state);
            communicator.abort();
        }
    }

    /// Counts a rank that has ended. If the rank failed, aborts all collectives.
    fn end(&self, failed: bool) {
        let mut state = self.state();
        state.ended += 1;
        state.failed |= failed;
        let aborted = if failed { state.communicators.clone() } else { Vec::new() };
        drop(state);
        self.changed.notify_all();
        aborted.iter().for_each(|communicator| communicator.abort());
    }
}
