//! Ranks as threads of one process, each with a GPU.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use gpu::Gpu;
use training::{Error, Result};

use crate::adapter::{DataParallel, Setup, install};
use crate::communicator::{Communicator, Id, new_id};
use crate::level::DeviceLevel;
use crate::rank::Rank;

/// The stack of a rank: that of a main thread by default.
const STACK: usize = 8 << 20;

/// Makes a rank's level, on the device of that number.
pub type Make<'a, L> = &'a (dyn Fn(Rank) -> Result<L> + Sync);
/// What every rank does.
pub type EachRank<'a, L> = &'a (dyn Fn(&mut DataParallel<L>) -> Result<()> + Sync);

/// What the ranks of a process have in common.
struct Crew {
    /// What is ended when one of them fails.
    seats: Vec<Mutex<Option<Arc<Communicator>>>>,
}

/// One rank's line to the thread that has started it.
struct Line {
    /// Says that the level is made; later, that the work is done.
    says: Sender<()>,
    /// Hears the id when all are ready.
    id: Receiver<Id>,
    /// Hears, by its end, that all are done.
    end: Receiver<()>,
}

/// Does some work on this many GPUs of this machine, each a rank and a thread. `gpu` is one of them,
/// and the driver has as many.
///
/// # Errors
/// What the first rank says that fails for a reason of its own.
pub fn on_gpus<L: DeviceLevel>(
    gpu: &Gpu,
    ranks: usize,
    setup: Setup,
    make: Make<'_, L>,
    work: EachRank<'_, L>,
) -> Result<()> {
    install(gpu)?;
    let id = new_id()?;
    let crew = Crew { seats: (0..ranks).map(|_| Mutex::default()).collect() };
    let results: Vec<Result<(), Failure>> = thread::scope(|scope| {
        let mut hears = Vec::new();
        let mut ids = Vec::new();
        let mut ends = Vec::new();
        let mut threads = Vec::new();
        for rank in 0..ranks {
            let place = Rank { rank, world_size: ranks };
            let ((says, heard), (id_out, id_in)) = (channel(), channel());
            let (end_out, end_in) = channel();
            let (line, crew) = (Line { says, id: id_in, end: end_in }, &crew);
            let builder = thread::Builder::new().name(format!("rank {rank}")).stack_size(STACK);
            threads.push(
                builder.spawn_scoped(scope, move || crew.rank(place, line, setup, make, work)),
            );
            hears.push(heard);
            ids.push(id_out);
            ends.push(end_out);
        }
        // A rank that fails says nothing, and ends what it would say it by.
        let ready = hears.iter().filter(|heard| heard.recv().is_ok()).count();
        if ready == ranks {
            for line in &ids {
                // A rank that has ended meanwhile is found out below.
                let _ = line.send(id);
            }
        }
        drop(ids);
        for heard in &hears {
            // Its end says that the rank is done.
            let _ = heard.recv();
        }
        drop(ends);
        let joined = |thread: std::io::Result<thread::ScopedJoinHandle<'_, _>>| match thread {
            Ok(thread) => thread.join().unwrap_or_else(|_| Err(Failure::panic())),
            Err(error) => Err(Failure { own: true, error: Error::level(error) }),
        };
        threads.into_iter().map(joined).collect()
    });
    first_failure(results)
}

/// Why a rank has ended early.
struct Failure {
    /// For a reason of its own, not since another is lost.
    own: bool,
    error: Error,
}

impl Failure {
    fn panic() -> Self {
        Self { own: true, error: Error::level("a rank panicked, as reported above") }
    }

    fn lost() -> Self {
        Self { own: false, error: Error::level(crate::Error::Lost) }
    }
}

/// The failure to tell of: the first that has a reason of its own.
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
        // What all say, one says for all; a reader who went away is nobody's fault.
        Some((_, Failure { error, .. })) if alike || matches!(error, Error::Output(_)) => {
            Err(error)
        }
        Some((rank, Failure { error, .. })) => Err(of_rank(rank, error)),
    }
}

/// The error that one of several ranks ended with.
pub(crate) fn of_rank(rank: usize, error: Error) -> Error {
    Error::Copy { copy: format!("rank {rank}"), error: error.into() }
}

impl Crew {
    fn seat(&self, rank: usize) -> MutexGuard<'_, Option<Arc<Communicator>>> {
        self.seats[rank].lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One rank, from beginning to end.
    fn rank<L: DeviceLevel>(
        &self,
        place: Rank,
        line: Line,
        setup: Setup,
        make: Make<'_, L>,
        work: EachRank<'_, L>,
    ) -> Result<(), Failure> {
        let Line { says, id, end } = line;
        // Dropped when all are done: what a rank holds may be of use to the others till then.
        let mut kept = None;
        let result = catch_unwind(AssertUnwindSafe(|| {
            let level = make(place).map_err(own)?;
            // Nobody listens only when this process ends anyway.
            let _ = says.send(());
            let id = id.recv().map_err(|_| Failure::lost())?;
            let joined = DataParallel::join(level, id, place, setup);
            let (level, joined) = joined.map_err(|error| own(error.into()))?;
            *self.seat(place.rank) = Some(Arc::clone(&joined));
            let done = work(kept.insert(level));
            let lost = joined.is_lost();
            match done {
                Ok(()) if lost => Err(Failure::lost()),
                done => done.map_err(|error| Failure { own: !lost, error }),
            }
        }));
        let result = result.unwrap_or_else(|_| Err(Failure::panic()));
        if result.is_err() {
            for rank in 0..place.world_size {
                let seat = self.seat(rank).clone();
                if let Some(communicator) = seat {
                    communicator.abort();
                }
            }
        }
        drop(says);
        // Nothing is sent by this line: it ends when all are done.
        let _ = end.recv();
        *self.seat(place.rank) = None;
        result
    }
}

fn own(error: Error) -> Failure {
    Failure { own: true, error }
}
