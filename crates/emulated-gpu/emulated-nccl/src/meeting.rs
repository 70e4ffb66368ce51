//! Waiting for other ranks, and finding out that one doesn't come.

use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use std::time::{Duration, Instant};

use crate::ffi::{Code, Error, Result, say};
use crate::region::{ABORTED, JOINED, LEFT, Region};

/// How often those that are waited for are looked at.
const LOOK: Duration = Duration::from_millis(50);
/// After this long it is said who is waited for, once.
const NOTICE: Duration = Duration::from_secs(10);
/// How long the others may take to come when a communicator is made, in seconds, where
/// `EMULATED_NCCL_TIMEOUT` says nothing else.
const TO_COME: u64 = 8;

/// A rank among the others.
#[derive(Debug)]
pub(crate) struct Seat {
    pub(crate) region: Region,
    pub(crate) rank: usize,
    /// Its communicator was ended by `ncclCommAbort`.
    pub(crate) aborted: AtomicBool,
}

/// Which of a rank's two counts of meetings: work on streams, or calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Who {
    Work = 0,
    Call = 1,
}

/// How long the others may take to come.
///
/// # Errors
/// When the variable is no number.
pub(crate) fn to_come() -> Result<Duration> {
    let Ok(text) = std::env::var("EMULATED_NCCL_TIMEOUT") else {
        return Ok(Duration::from_secs(TO_COME));
    };
    let seconds = text.trim().parse::<u64>().ok().filter(|seconds| (1..=86_400).contains(seconds));
    seconds.map(Duration::from_secs).ok_or_else(|| {
        Error::argument(format!(
            "EMULATED_NCCL_TIMEOUT: `{text}` is no number of seconds from 1 to 86400"
        ))
    })
}

impl Seat {
    fn ranks(&self) -> usize {
        self.region.ranks
    }

    fn others(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.ranks()).filter(|rank| *rank != self.rank)
    }

    /// Ends the communicator for all ranks: the first reason stays.
    pub(crate) fn fail(&self, code: Code, culprit: usize) {
        let header = self.region.header();
        if header.failed.load(Acquire) == 0 {
            header.culprit.store(culprit as u32, Relaxed);
            let _ = header.failed.compare_exchange(0, code as u32, AcqRel, Acquire);
        }
    }

    /// The error that has ended the communicator, on whatever rank.
    pub(crate) fn failure(&self) -> Option<Error> {
        let header = self.region.header();
        let code = header.failed.load(Acquire);
        let culprit = header.culprit.load(Relaxed);
        (code != 0).then(|| {
            let why = match Code::of(code) {
                Code::Remote => format!("rank {culprit} is gone: its process has ended"),
                Code::InvalidUsage => {
                    format!("rank {culprit} found that the ranks call for different things")
                }
                _ => format!("rank {culprit} has failed"),
            };
            Error::new(Code::of(code), why)
        })
    }

    /// How a rank is gone, if it is.
    fn gone(&self, rank: usize) -> Option<&'static str> {
        match self.region.slot(rank).state.load(Acquire) {
            LEFT => Some("has given its communicator back"),
            ABORTED => Some("has aborted"),
            JOINED if !self.region.is_alive(rank) => Some("is gone: its process has ended"),
            _ => None,
        }
    }

    /// The error of waiting for a rank that is gone.
    fn lost(&self, rank: usize, how: &str) -> Error {
        if self.region.slot(rank).state.load(Acquire) == JOINED {
            self.fail(Code::Remote, rank);
        }
        Error::new(Code::Remote, format!("rank {rank} {how}, and rank {} waits for it", self.rank))
    }

    /// Waits until `missing` names nobody: the ranks that are waited for.
    ///
    /// # Errors
    /// When one of them is gone, has failed or aborted; when this rank has aborted.
    pub(crate) fn wait(&self, missing: impl Fn() -> Vec<usize>) -> Result {
        let begun = Instant::now();
        let (mut rounds, mut looked, mut noticed) = (0u32, begun, false);
        loop {
            let awaited = missing();
            if awaited.is_empty() {
                return Ok(());
            }
            if self.aborted.load(Relaxed) {
                return Err(Error::new(Code::Internal, "the communicator was aborted"));
            }
            if let Some(failure) = self.failure() {
                return Err(failure);
            }
            if looked.elapsed() > LOOK {
                looked = Instant::now();
                for &rank in &awaited {
                    // Who has come meanwhile may well have left again.
                    if let Some(how) = self.gone(rank)
                        && missing().contains(&rank)
                    {
                        return Err(self.lost(rank, how));
                    }
                }
            }
            if !noticed && begun.elapsed() > NOTICE {
                noticed = true;
                let list: Vec<String> = awaited.iter().map(ToString::to_string).collect();
                say(&format!("rank {} has waited 10 s for {}", self.rank, list.join(", ")));
            }
            rest(&mut rounds);
        }
    }

    /// Waits until all ranks have come as often as this one.
    ///
    /// # Errors
    /// As of [`wait`](Self::wait).
    pub(crate) fn meet(&self, who: Who) -> Result {
        let count = |rank: usize| &self.region.slot(rank).arrived[who as usize];
        let own = count(self.rank).fetch_add(1, AcqRel) + 1;
        self.wait(|| self.others().filter(|&rank| count(rank).load(Acquire) < own).collect())
    }

    /// Takes the seat, and waits until all ranks have theirs.
    ///
    /// # Errors
    /// When another has it, when the ranks disagree about how many they are, and when one does not
    /// come.
    pub(crate) fn take(&self, device: i32) -> Result {
        let (region, ranks) = (&self.region, self.ranks());
        let own = region.slot(self.rank);
        region.live(self.rank)?;
        let header = region.header();
        let agreed = header.ranks.compare_exchange(0, ranks as u32, AcqRel, Acquire);
        if let Err(others) = agreed
            && others != ranks as u32
        {
            return Err(Error::usage(format!(
                "rank {} says that there are {ranks} ranks, and another that there are {others}",
                self.rank
            )));
        }
        own.process.store(std::process::id(), Relaxed);
        own.device.store(device, Relaxed);
        own.state.store(JOINED, Release);
        let absent = || -> Vec<usize> {
            let is_here = |rank: &usize| region.slot(*rank).state.load(Acquire) != 0;
            self.others().filter(|rank| !is_here(rank)).collect()
        };
        let (begun, most) = (Instant::now(), to_come()?);
        let mut rounds = 0;
        while !absent().is_empty() {
            if begun.elapsed() > most {
                // Nobody finds it any longer, so that who comes late does not wait for ever.
                region.unlink();
                own.state.store(LEFT, Release);
                let list: Vec<String> = absent().iter().map(ToString::to_string).collect();
                let seconds = most.as_secs();
                return Err(Error::new(
                    Code::System,
                    format!(
                        "of {ranks} ranks, {} did not come within {seconds} s: does each have the \
                         same id, and its own rank? (EMULATED_NCCL_TIMEOUT=SECONDS waits longer)",
                        list.join(", ")
                    ),
                ));
            }
            let here = |rank: &usize| region.slot(*rank).state.load(Acquire) != 0;
            for rank in self.others().filter(here) {
                if let Some(how) = self.gone(rank) {
                    return Err(self.lost(rank, how));
                }
            }
            rest(&mut rounds);
        }
        region.unlink();
        let same = |rank: usize| {
            let other = region.slot(rank);
            other.process.load(Relaxed) == std::process::id()
                && other.device.load(Relaxed) == device
        };
        match self.others().find(|&rank| same(rank)) {
            Some(other) => Err(Error::usage(format!(
                "ranks {} and {other} of one process are both on device {device}: each needs its own \
                 (EMULATED_GPU_DEVICES says how many there are)",
                self.rank
            ))),
            None => self.meet(Who::Call),
        }
    }

    /// Gives it back.
    pub(crate) fn leave(&self) {
        let state = if self.aborted.load(Relaxed) { ABORTED } else { LEFT };
        self.region.slot(self.rank).state.store(state, Release);
    }
}

/// Lets others work, the longer the more often it was called: with few processors the rank that is
/// waited for needs this one's. It sleeps, and doesn't yield: on a busy machine each yield would cost a
/// turn of everybody.
pub(crate) fn rest(rounds: &mut u32) {
    *rounds = rounds.saturating_add(1);
    match *rounds {
        0..=50 => std::hint::spin_loop(),
        51..=1000 => std::thread::sleep(Duration::from_micros(20)),
        _ => std::thread::sleep(Duration::from_millis(1)),
    }
}
