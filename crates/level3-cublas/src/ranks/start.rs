//! Starting ranks: threads of one process, or this process as one of several.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use gpu::Gpu;
use training::{Error, Rank, Result};

use super::communicator::{Communicator, Id, new_id};
use super::environment::Environment;
use super::link::Link;
use crate::{Level3, library};

/// The stack of a rank: that of a main thread by default.
const STACK: usize = 8 << 20;
/// How long a rank waits for the reason when it finds that another is lost.
const REASON: Duration = Duration::from_secs(2);

/// Makes a rank's level, on the device of that number.
pub type Make<'a> = &'a (dyn Fn(Rank) -> Result<Level3> + Sync);
/// What every rank does.
pub type EachRank<'a> = &'a (dyn Fn(&mut Level3) -> Result<()> + Sync);

/// Has cudarc find NCCL.
pub(crate) fn install(gpu: &Gpu) -> crate::Result<()> {
    library::install(gpu, "nccl", emulated_nccl::library_path())
}

// ---------------------------------------------------------------------------------------- threads

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
pub fn on_gpus(gpu: &Gpu, ranks: usize, make: Make<'_>, work: EachRank<'_>) -> Result<()> {
    install(gpu).map_err(Error::level)?;
    let id = new_id().map_err(Error::level)?;
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
            threads.push(builder.spawn_scoped(scope, move || crew.rank(place, line, make, work)));
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
        Some((rank, Failure { error, .. })) => Err(Error::Rank { rank, error: error.into() }),
    }
}

impl Crew {
    fn seat(&self, rank: usize) -> MutexGuard<'_, Option<Arc<Communicator>>> {
        self.seats[rank].lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One rank, from beginning to end.
    fn rank(
        &self,
        place: Rank,
        line: Line,
        make: Make<'_>,
        work: EachRank<'_>,
    ) -> Result<(), Failure> {
        let Line { says, id, end } = line;
        // Dropped when all are done: what a rank holds may be of use to the others till then.
        let mut kept = None;
        let result = catch_unwind(AssertUnwindSafe(|| {
            let level = kept.insert(make(place).map_err(own)?);
            // Nobody listens only when this process ends anyway.
            let _ = says.send(());
            let id = id.recv().map_err(|_| Failure::lost())?;
            let joined = level.join(id, place).map_err(|error| own(Error::level(error)))?;
            *self.seat(place.rank) = Some(Arc::clone(&joined));
            let done = work(level);
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

// -------------------------------------------------------------------------------------- processes

/// This process as one of several ranks.
#[derive(Clone, Debug)]
pub(crate) struct Process {
    pub(crate) place: Rank,
    /// Which of the ranks of this machine.
    pub(crate) local_rank: usize,
    /// To the others; none where there are none.
    link: Option<Arc<Link>>,
}

impl Process {
    /// Finds the other ranks, as the environment says. `wait` is how long they may take to come, and then
    /// to be ready.
    ///
    /// # Errors
    /// When a rank does not come in time, or says something else than this one.
    pub(crate) fn start(environment: &Environment, wait: Duration) -> crate::Result<Self> {
        let (place, local_rank) = (environment.place, environment.local_rank);
        let link = match place.is_alone() {
            true => None,
            false => Some(Link::new(place, wait, environment.meet(wait)?)?),
        };
        Ok(Self { place, local_rank, link })
    }
}

/// Does some work as one of several ranks.
///
/// # Errors
/// What making the level or the work says; where another rank is lost, why.
pub(crate) fn on_process(
    process: &Process,
    make: impl FnOnce() -> Result<Level3>,
    work: EachRank<'_>,
) -> Result<()> {
    let Some(link) = &process.link else { return work(&mut make()?) };
    let mut lost = false;
    let run = || {
        let mut level = make()?;
        install(&level.gpu).map_err(Error::level)?;
        let joined = link.all_ready().and_then(|id| level.join(id, process.place));
        let joined = joined.map_err(|error| {
            lost = matches!(error, crate::Error::Lost);
            Error::level(error)
        })?;
        link.guard(&joined);
        let done = work(&mut level);
        lost = joined.is_lost();
        let done = if lost { done.and(Err(Error::level(crate::Error::Lost))) } else { done };
        if done.is_err() {
            // What was sent and nobody answers would be waited for.
            joined.abort();
        }
        done
    };
    let result = run();
    let rank = process.place.rank;
    match result {
        Ok(()) => {
            link.end(None);
            Ok(())
        }
        Err(error) => {
            let reason = if lost { link.why_lost(REASON) } else { None };
            // A reader who went away is no failure that the others have to be told of by a name.
            let told = reason.clone().unwrap_or_else(|| format!("rank {rank}: {error}"));
            link.end(Some(&told));
            match reason {
                Some(reason) => Err(Error::level(format!("{reason}; rank {rank} ends too"))),
                None if matches!(error, Error::Output(_)) => Err(error),
                None => Err(Error::Rank { rank, error: error.into() }),
            }
        }
    }
}
