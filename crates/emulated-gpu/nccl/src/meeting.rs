//! Waiting for other ranks, and finding out that one doesn't come.

use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use std::time::{Duration, Instant};

use crate::deadlock::deadlock;
use crate::ffi::{Code, Error, Result, say};
use crate::operation::describe;
use crate::region::{ABORTED, JOINED, LEFT, MOST_RANKS, Region};

/// How often those that are waited for are looked at.
const LOOK: Duration = Duration::from_millis(50);
/// After this long a rank looks whether it is part of a deadlock: nearly every wait is shorter.
const DEADLOCK: Duration = Duration::from_millis(200);
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
    /// The process that took it. A child that was forked later has a copy, and is no rank.
    process: u32,
}

/// What has ended a communicator: one number, so that the first to report it is the only one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Failure {
    code: Code,
    /// The rank that it is about, and the rank that has found out.
    culprit: usize,
    finder: usize,
}

impl Failure {
    fn pack(self) -> u64 {
        (self.code as u64) << 32 | (self.culprit as u64) << 16 | self.finder as u64
    }

    /// `None` for 0. Whatever the number is, the ranks are some.
    fn unpack(packed: u64) -> Option<Self> {
        let rank = |shift: u32| (packed >> shift) as usize % MOST_RANKS;
        let code = match Code::of((packed >> 32) as u32) {
            Code::Success => Code::Internal,
            code => code,
        };
        (packed != 0).then_some(Self { code, culprit: rank(16), finder: rank(0) })
    }
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
        let failure = Failure { code, culprit, finder: self.rank }.pack();
        let _ = self.region.header().failed.compare_exchange(0, failure, AcqRel, Acquire);
    }

    /// Ends the communicator because another rank calls for something else.
    pub(crate) fn differs(&self, other: usize, why: String) -> Error {
        self.fail(Code::InvalidUsage, other);
        Error::usage(why)
    }

    /// The error that has ended the communicator, on whatever rank.
    pub(crate) fn failure(&self) -> Option<Error> {
        let Failure { code, culprit, finder } =
            Failure::unpack(self.region.header().failed.load(Acquire))?;
        let why = match code {
            Code::Remote => format!("rank {culprit} is gone: its process has ended"),
            Code::InvalidUsage => format!(
                "the ranks call for different things: {}, and {}",
                self.what_does(culprit),
                self.what_does(finder)
            ),
            _ => format!("rank {culprit} has failed"),
        };
        Some(Error::new(code, why))
    }

    /// A rank, its last call, and `ncclCommSplit` if it waits there for others to call it.
    fn what_does(&self, rank: usize) -> String {
        let is_rank = rank < self.ranks();
        let call = if is_rank { describe(&self.region.slot(rank).call) } else { None };
        let calls = |rank: usize| self.region.slot(rank).arrived[Who::Call as usize].load(Acquire);
        // The first meeting of calls is that of `ncclCommInitRank`.
        let splits =
            is_rank && calls(rank) > 1 && (0..self.ranks()).any(|other| calls(other) < calls(rank));
        match call {
            Some(call) if splits => format!("rank {rank} {call}, and ncclCommSplit"),
            Some(call) => format!("rank {rank} {call}"),
            None if splits => format!("rank {rank} calls ncclCommSplit"),
            None => format!("rank {rank} has begun nothing (its stream may have other work first)"),
        }
    }

    /// The error of waiting for a rank that waits for this one.
    fn stuck(&self, circle: &[usize]) -> Error {
        let calls: Vec<String> = circle.iter().map(|rank| self.what_does(*rank)).collect();
        let why = format!("the ranks wait for each other for ever: {}", calls.join(", "));
        self.differs(circle[circle.len().min(2) - 1], why)
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

    /// What has ended the communicator, in full if this rank is part of a deadlock that another rank was
    /// faster to find.
    fn failure_while_waiting(&self) -> Option<Error> {
        let failure = self.failure()?;
        let circle = match failure.code {
            Code::InvalidUsage => deadlock(&self.region, self.rank),
            _ => None,
        };
        Some(circle.map_or(failure, |circle| self.stuck(&circle)))
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
            if let Some(failure) = self.failure_while_waiting() {
                return Err(failure);
            }
            if looked.elapsed() > LOOK {
                looked = Instant::now();
                for &rank in &awaited {
                    // A rank that has come meanwhile may well have left again.
                    if let Some(how) = self.gone(rank)
                        && missing().contains(&rank)
                    {
                        // It may have left because of a failure.
                        let failure = self.failure_while_waiting();
                        return Err(failure.unwrap_or_else(|| self.lost(rank, how)));
                    }
                }
                if begun.elapsed() > DEADLOCK
                    && let Some(circle) = deadlock(&self.region, self.rank)
                {
                    return Err(self.stuck(&circle));
                }
            }
            if !noticed && begun.elapsed() > NOTICE {
                noticed = true;
                let list: Vec<String> = awaited.iter().map(|rank| self.what_does(*rank)).collect();
                say(&format!("rank {} has waited 10 s for others: {}", self.rank, list.join(", ")));
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

    /// Takes a seat, and waits until all ranks have theirs.
    ///
    /// # Errors
    /// `ncclInvalidUsage` if another rank has had it, or has the same device; `ncclSystemError` if a
    /// rank does not come; as of [`wait`](Self::wait).
    pub(crate) fn take(region: Region, rank: usize, device: i32) -> Result<Self> {
        let own = region.slot(rank);
        if own.state.load(Acquire) != 0 {
            return Err(Error::usage(format!("rank {rank} was there before, and has ended")));
        }
        own.device.store(device, Relaxed);
        own.state.store(JOINED, Release);
        let process = std::process::id();
        let seat = Self { region, rank, aborted: AtomicBool::new(false), process };
        seat.await_others()?;
        seat.region.unlink();
        let region = &seat.region;
        let same = |rank: &usize| {
            region.is_local(*rank) && region.slot(*rank).device.load(Relaxed) == device
        };
        if let Some(other) = seat.others().find(same) {
            return Err(Error::usage(format!(
                "ranks {rank} and {other} of one process are both on device {device}: each needs its \
                 own (EMULATED_GPU_DEVICES says how many there are)"
            )));
        }
        seat.meet(Who::Call)?;
        Ok(seat)
    }

    fn await_others(&self) -> Result {
        let (region, ranks) = (&self.region, self.ranks());
        let is_here = |rank: &usize| region.slot(*rank).state.load(Acquire) != 0;
        let absent = || self.others().filter(|rank| !is_here(rank));
        let (begun, most) = (Instant::now(), to_come()?);
        let mut rounds = 0;
        while absent().next().is_some() {
            if begun.elapsed() > most {
                // A rank that comes later must not find it, and wait for ever.
                region.unlink();
                let list: Vec<String> = absent().map(|rank| rank.to_string()).collect();
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
            for rank in self.others().filter(is_here) {
                if let Some(how) = self.gone(rank) {
                    return Err(self.lost(rank, how));
                }
            }
            rest(&mut rounds);
        }
        Ok(())
    }

    /// Gives it back: this rank takes part in nothing any more.
    pub(crate) fn leave(&self) {
        if std::process::id() == self.process {
            let state = if self.aborted.load(Relaxed) { ABORTED } else { LEFT };
            self.region.slot(self.rank).state.store(state, Release);
        }
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.leave();
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::element::DataType;
    use crate::id::UniqueId;
    use crate::operation::{Agreed, NcclCollective};

    #[test]
    fn the_first_failure_stays() {
        let region = Region::open(&UniqueId::new().unwrap().name().unwrap(), (1, 0)).unwrap();
        let seat = Seat::take(region, 0, 0).unwrap();
        assert!(seat.failure().is_none());
        seat.fail(Code::Remote, 3);
        seat.fail(Code::UnhandledCuda, 5);
        let failure = seat.failure().unwrap();
        assert_eq!(
            (failure.code, &*failure.why),
            (Code::Remote, "rank 3 is gone: its process has ended")
        );
        // Nonsense that another process has written names some rank.
        seat.region.header().failed.store(u64::MAX, Relaxed);
        assert!(seat.failure().unwrap().why.contains("has failed"));
    }

    #[test]
    fn a_rank_that_waits_in_a_split_is_described_by_it() {
        let region = Region::open(&UniqueId::new().unwrap().name().unwrap(), (2, 0)).unwrap();
        region.unlink();
        let seat = Seat { region, rank: 1, aborted: AtomicBool::new(false), process: 0 };
        let [other, own] = [0, 1].map(|rank| &seat.region.slot(rank).arrived[Who::Call as usize]);
        other.store(1, Relaxed);
        assert_eq!(
            seat.what_does(0),
            "rank 0 has begun nothing (its stream may have other work first)"
        );
        own.store(1, Relaxed);
        other.store(2, Relaxed);
        assert_eq!(seat.what_does(0), "rank 0 calls ncclCommSplit");
        let data_type = DataType::Float32;
        let kind = NcclCollective::AllReduce;
        let agreed = Agreed { kind, data_type, count: 4, reduction: 0, root: 0 };
        agreed.show(&seat.region.slot(0).call);
        let call = "rank 0 calls ncclAllReduce of 4 ncclFloat32";
        assert_eq!(seat.what_does(0), format!("{call}, and ncclCommSplit"));
        own.store(2, Relaxed);
        assert_eq!(seat.what_does(0), call);
    }

    #[test]
    fn a_failure_is_one_number() {
        let failure = Failure { code: Code::InvalidUsage, culprit: 63, finder: 1 };
        assert_eq!(Failure::unpack(failure.pack()), Some(failure));
        assert_eq!(Failure::unpack(0), None);
    }
}
