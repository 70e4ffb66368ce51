//! This process as one of several ranks.

use std::sync::Arc;
use std::time::Duration;

use training::{Error, Result, Runner, Single};

use crate::adapter::{DataParallel, Reduction, install};
use crate::environment::Environment;
use crate::level::DeviceLevel;
use crate::link::Link;
use crate::rank::Rank;
use crate::threads::of_rank;

/// The time that a rank waits for the reason after it has noticed that another rank is lost.
const REASON_TIMEOUT: Duration = Duration::from_secs(2);

/// This process as one of several ranks.
#[derive(Clone, Debug)]
pub(crate) struct Process {
    pub(crate) place: Rank,
    /// The rank's number among the ranks of this machine.
    pub(crate) local_rank: usize,
    /// The connection to the other ranks; `None` for a single rank.
    link: Option<Arc<Link>>,
}

impl Process {
    /// Finds the other ranks. `wait` is the time that they have to connect, and then again to get ready.
    ///
    /// # Errors
    /// If a rank does not connect in time, or was started with other settings.
    pub(crate) fn start(environment: &Environment, wait: Duration) -> crate::Result<Self> {
        let (place, local_rank) = (environment.place, environment.local_rank);
        let link = match place.is_alone() {
            true => None,
            false => Some(Link::new(place, wait, environment.connect_ranks(wait)?)?),
        };
        Ok(Self { place, local_rank, link })
    }
}

/// Makes this rank's level, and runs `work` on it.
///
/// # Errors
/// If `make` or `work` fails, or another rank is lost; the error then includes that rank's reason.
pub(crate) fn on_process<L: DeviceLevel>(
    process: &Process,
    reduction: Reduction,
    make: impl FnOnce() -> Result<L>,
    work: &dyn Fn(&mut dyn Runner) -> Result<()>,
) -> Result<()> {
    let Some(link) = &process.link else { return work(&mut Single(&mut make()?)) };
    let mut lost = false;
    let run = || {
        let level = make()?;
        install(level.gpu())?;
        let joined = link.all_ready();
        let joined = joined.and_then(|id| DataParallel::join(level, id, process.place, reduction));
        let (mut level, joined) = joined.map_err(|error| {
            lost = matches!(error, crate::Error::Lost);
            Error::level(error)
        })?;
        link.guard(&joined);
        let done = work(&mut level);
        lost = joined.is_lost();
        let done = if lost { done.and(Err(Error::level(crate::Error::Lost))) } else { done };
        if done.is_err() {
            // Aborts, because otherwise this rank would wait for collectives that no other rank joins.
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
            let reason = if lost { link.why_lost(REASON_TIMEOUT) } else { None };
            // Reports the reason that another rank sent, otherwise this rank's error. An output error, such as a closed
            // stdout, isn't a failure of the rank, so it is reported without the rank's number.
            let passed_on = reason.clone().unwrap_or_else(|| format!("rank {rank}: {error}"));
            link.end(Some(&passed_on));
            match reason {
                Some(reason) => Err(Error::level(format!("{reason}; rank {rank} ends too"))),
                None if matches!(error, Error::Output(_)) => Err(error),
                None => Err(of_rank(rank, error)),
            }
        }
    }
}
