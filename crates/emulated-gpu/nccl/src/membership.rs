//! Waiting for other ranks, and detecting ranks that have ended or never join.

use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use std::time::{Duration, Instant};

use crate::deadlock::deadlock;
use crate::ffi::{Code, Error, Result, report};
use crate::operation::describe;
use crate::region::{ABORTED, JOINED, LEFT, MAX_RANKS, Region};

/// The interval at which a waiting rank checks that the ranks it waits for still exist.
const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// The time that a rank waits before it looks for a deadlock. Nearly every wait is shorter.
const DEADLOCK_CHECK_AFTER: Duration = Duration::from_millis(200);
/// The time that a rank waits before it reports, once, which ranks it is waiting for.
const NOTICE_AFTER: Duration = Duration::from_secs(10);
/// The default time in seconds for all ranks to join a new communicator; `EMULATED_NCCL_TIMEOUT`
/// overrides it.
const JOIN_TIMEOUT_SECONDS: u64 = 8;

/// A rank's membership in a communicator.
#[derive(Debug)]
pub(crate) struct Membership {
    pub(crate) region: Region,
    pub(crate) rank: usize,
    /// Set by `ncclCommAbort`.
    pub(crate) aborted: AtomicBool,
    /// The process of this rank. A forked child has a copy of this structure, but is not a rank.
    process: u32,
}

/// The failure that has ended a communicator, packed into one number, so that the first report of a
/// failure is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Failure {
    code: Code,
    /// The rank that has failed, and the rank that has detected it.
    culprit: usize,
    finder: usize,
}

impl Failure {
    fn pack(self) -> u64 {
        (self.code as u64) << 32 | (self.culprit as u64) << 16 | self.finder as u64
    }

    /// Unpacks a failure; `None` for 0. Every other number gives valid ranks, even if another
    /// process has damaged it.
    fn unpack(packed: u64) -> Option<Self> {
        let rank = |shift: u32| (packed >> shift) as usize % MAX_RANKS;
        let code = match Code::from_code((packed >> 32) as i32).unwrap_or(Code::Internal) {
            Code::Success => Code::Internal,
            code => code,
        };
        (packed != 0).then_some(Self { code, culprit: rank(16), finder: rank(0) })
    }
}

/// The kind of a barrier: for work on streams, or for calls. Each rank counts the two kinds
/// separately.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BarrierKind {
    Work = 0,
    Call = 1,
}

/// The time to wait for all ranks to join, in a new communicator.
///
/// # Errors
/// `ncclInvalidArgument` if `EMULATED_NCCL_TIMEOUT` is not a number of seconds from 1 to 86400.
pub(crate) fn join_timeout() -> Result<Duration> {
    let Ok(text) = std::env::var("EMULATED_NCCL_TIMEOUT") else {
        return Ok(Duration::from_secs(JOIN_TIMEOUT_SECONDS));
    };
    let seconds = text.trim().parse::<u64>().ok().filter(|seconds| (1..=86_400).contains(seconds));
    seconds.map(Duration::from_secs).ok_or_else(|| {
        Error::argument(format!(
            "EMULATED_NCCL_TIMEOUT: `{text}` is not a number of seconds from 1 to 86400"
        ))
    })
}

impl Membership {
    fn ranks(&self) -> usize {
        self.region.ranks
    }

    fn other_ranks(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.ranks()).filter(|rank| *rank != self.rank)
    }

    /// Ends the communicator for all ranks; the first failure is kept.
    pub(crate) fn fail(&self, code: Code, culprit: usize) {
        let failure = Failure { code, culprit, finder: self.rank }.pack();
        let _ = self.region.header().failed.compare_exchange(0, failure, AcqRel, Acquire);
    }

    /// Ends the communicator because another rank calls a different operation.
    pub(crate) fn fail_mismatch(&self, other: usize, why: String) -> Error {
        self.fail(Code::InvalidUsage, other);
        Error::invalid_usage(why)
    }

    /// The failure that has ended the communicator, on any rank.
    pub(crate) fn failure(&self) -> Option<Error> {
        let Failure { code, culprit, finder } =
            Failure::unpack(self.region.header().failed.load(Acquire))?;
        let why = match code {
            Code::Remote => format!("rank {culprit} is gone: its process has ended"),
            Code::InvalidUsage => format!(
                "the ranks call different operations: {}, and {}",
                self.describe_rank(culprit),
                self.describe_rank(finder)
            ),
            _ => format!("rank {culprit} has failed"),
        };
        Some(Error::new(code, why))
    }

    /// Describes a rank by its last call, and by `ncclCommSplit` if it waits there for other ranks.
    fn describe_rank(&self, rank: usize) -> String {
        let is_rank = rank < self.ranks();
        let call = if is_rank { describe(&self.region.slot(rank).call) } else { None };
        let calls =
            |rank: usize| self.region.slot(rank).arrived[BarrierKind::Call as usize].load(Acquire);
        // The first barrier of this kind belongs to `ncclCommInitRank`.
        let splits =
            is_rank && calls(rank) > 1 && (0..self.ranks()).any(|other| calls(other) < calls(rank));
        match call {
            Some(call) if splits => format!("rank {rank} {call}, and ncclCommSplit"),
            Some(call) => format!("rank {rank} {call}"),
            None if splits => format!("rank {rank} calls ncclCommSplit"),
            None => format!(
                "rank {rank} has not begun an operation (its stream may still have earlier work)"
            ),
        }
    }

    /// The error for a deadlock.
    fn deadlock_error(&self, cycle: &[usize]) -> Error {
        let calls: Vec<String> = cycle.iter().map(|rank| self.describe_rank(*rank)).collect();
        let why = format!("deadlock, because the ranks wait for each other: {}", calls.join(", "));
        self.fail_mismatch(cycle[cycle.len().min(2) - 1], why)
    }

    /// Describes how a rank has left; `None` if it hasn't.
    fn departure(&self, rank: usize) -> Option<&'static str> {
        match self.region.slot(rank).state.load(Acquire) {
            LEFT => Some("has left the communicator"),
            ABORTED => Some("has aborted"),
            JOINED if !self.region.is_alive(rank) => Some("is gone: its process has ended"),
            _ => None,
        }
    }

    /// The error for waiting for a rank that has left.
    fn departed_error(&self, rank: usize, how: &str) -> Error {
        if self.region.slot(rank).state.load(Acquire) == JOINED {
            self.fail(Code::Remote, rank);
        }
        Error::new(Code::Remote, format!("rank {rank} {how}, and rank {} waits for it", self.rank))
    }

    /// The failure of the communicator. If this rank is part of a deadlock that another rank
    /// detected first, the error describes the whole deadlock.
    fn failure_while_waiting(&self) -> Option<Error> {
        let failure = self.failure()?;
        let cycle = match failure.code {
            Code::InvalidUsage => deadlock(&self.region, self.rank),
            _ => None,
        };
        Some(cycle.map_or(failure, |cycle| self.deadlock_error(&cycle)))
    }

    /// Waits until `missing`, which returns the ranks that are still waited for, returns none.
    ///
    /// # Errors
    /// If one of these ranks has ended, failed or aborted, or this rank has aborted.
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
            if looked.elapsed() > POLL_INTERVAL {
                looked = Instant::now();
                for &rank in &awaited {
                    // A rank that has arrived in the meantime may already have left again.
                    if let Some(how) = self.departure(rank)
                        && missing().contains(&rank)
                    {
                        // A rank may have left because of a failure, which explains the error
                        // better.
                        let failure = self.failure_while_waiting();
                        return Err(failure.unwrap_or_else(|| self.departed_error(rank, how)));
                    }
                }
                if begun.elapsed() > DEADLOCK_CHECK_AFTER
                    && let Some(cycle) = deadlock(&self.region, self.rank)
                {
                    return Err(self.deadlock_error(&cycle));
                }
            }
            if !noticed && begun.elapsed() > NOTICE_AFTER {
                noticed = true;
                let list: Vec<String> =
                    awaited.iter().map(|rank| self.describe_rank(*rank)).collect();
                report(&format!(
                    "rank {} has been waiting for 10 s: {}",
                    self.rank,
                    list.join(", ")
                ));
            }
            back_off(&mut rounds);
        }
    }

    /// Waits until every rank has arrived at as many barriers of this kind as this rank.
    ///
    /// # Errors
    /// See [`wait`](Self::wait).
    pub(crate) fn barrier(&self, kind: BarrierKind) -> Result {
        let count = |rank: usize| &self.region.slot(rank).arrived[kind as usize];
        let round = count(self.rank).fetch_add(1, AcqRel) + 1;
        self.wait(|| self.other_ranks().filter(|&rank| count(rank).load(Acquire) < round).collect())
    }

    /// Joins a communicator, and waits until all ranks have joined.
    ///
    /// # Errors
    /// `ncclInvalidUsage` if the rank has joined before, or a rank of the same process uses the
    /// same device; `ncclSystemError` if a rank does not join in time; and those of
    /// [`wait`](Self::wait).
    pub(crate) fn join(region: Region, rank: usize, device: i32) -> Result<Self> {
        let slot = region.slot(rank);
        if slot.state.load(Acquire) != 0 {
            return Err(Error::invalid_usage(format!(
                "rank {rank} has joined before, and has left"
            )));
        }
        slot.device.store(device, Relaxed);
        slot.state.store(JOINED, Release);
        let process = std::process::id();
        let membership = Self { region, rank, aborted: AtomicBool::new(false), process };
        membership.wait_for_other_ranks()?;
        membership.region.unlink();
        let region = &membership.region;
        let same = |rank: &usize| {
            region.is_local(*rank) && region.slot(*rank).device.load(Relaxed) == device
        };
        if let Some(other) = membership.other_ranks().find(same) {
            return Err(Error::invalid_usage(format!(
                "ranks {rank} and {other} of one process are both on device {device}: each needs its \
                 own (EMULATED_GPU_DEVICES sets their number)"
            )));
        }
        membership.barrier(BarrierKind::Call)?;
        Ok(membership)
    }

    fn wait_for_other_ranks(&self) -> Result {
        let (region, ranks) = (&self.region, self.ranks());
        let is_here = |rank: &usize| region.slot(*rank).state.load(Acquire) != 0;
        let absent = || self.other_ranks().filter(|rank| !is_here(rank));
        let (begun, most) = (Instant::now(), join_timeout()?);
        let mut rounds = 0;
        while absent().next().is_some() {
            if begun.elapsed() > most {
                // The file is removed, because a rank that comes later and finds it would wait
                // forever.
                region.unlink();
                let list: Vec<String> = absent().map(|rank| rank.to_string()).collect();
                let seconds = most.as_secs();
                return Err(Error::new(
                    Code::System,
                    format!(
                        "of {ranks} ranks, {} did not join within {seconds} s: does each have the \
                         same id, and its own rank? (EMULATED_NCCL_TIMEOUT=SECONDS waits longer)",
                        list.join(", ")
                    ),
                ));
            }
            for rank in self.other_ranks().filter(is_here) {
                if let Some(how) = self.departure(rank) {
                    return Err(self.departed_error(rank, how));
                }
            }
            back_off(&mut rounds);
        }
        Ok(())
    }

    /// Leaves the communicator: this rank no longer takes part in operations.
    pub(crate) fn leave(&self) {
        if std::process::id() == self.process {
            let state = if self.aborted.load(Relaxed) { ABORTED } else { LEFT };
            self.region.slot(self.rank).state.store(state, Release);
        }
    }
}

impl Drop for Membership {
    fn drop(&mut self) {
        self.leave();
    }
}

/// Waits for a moment, which grows with each call, so that on a machine with few cores the awaited
/// rank can run on this core. It sleeps instead of yielding, because on a busy machine every yield
/// costs a time slice.
pub(crate) fn back_off(rounds: &mut u32) {
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
    use crate::operation::{CollectiveParameters, NcclCollective};

    #[test]
    fn the_first_failure_is_kept() {
        let region = Region::open(&UniqueId::new().unwrap().name().unwrap(), (1, 0)).unwrap();
        let membership = Membership::join(region, 0, 0).unwrap();
        assert!(membership.failure().is_none());
        membership.fail(Code::Remote, 3);
        membership.fail(Code::UnhandledCuda, 5);
        let failure = membership.failure().unwrap();
        let expected = (Code::Remote, "rank 3 is gone: its process has ended");
        assert_eq!((failure.code, &*failure.why), expected);
        // A garbage value from another process still names a valid rank.
        membership.region.header().failed.store(u64::MAX, Relaxed);
        assert!(membership.failure().unwrap().why.contains("has failed"));
    }

    #[test]
    fn the_description_of_a_rank_names_a_pending_split() {
        let region = Region::open(&UniqueId::new().unwrap().name().unwrap(), (2, 0)).unwrap();
        region.unlink();
        let membership =
            Membership { region, rank: 1, aborted: AtomicBool::new(false), process: 0 };
        let [other, this] =
            [0, 1].map(|rank| &membership.region.slot(rank).arrived[BarrierKind::Call as usize]);
        other.store(1, Relaxed);
        let expected = "rank 0 has not begun an operation (its stream may still have earlier work)";
        assert_eq!(membership.describe_rank(0), expected);
        this.store(1, Relaxed);
        other.store(2, Relaxed);
        assert_eq!(membership.describe_rank(0), "rank 0 calls ncclCommSplit");
        let data_type = DataType::Float32;
        let kind = NcclCollective::AllReduce;
        let parameters = CollectiveParameters { kind, data_type, count: 4, reduction: 0, root: 0 };
        parameters.publish(&membership.region.slot(0).call);
        let call = "rank 0 calls ncclAllReduce of 4 ncclFloat32";
        assert_eq!(membership.describe_rank(0), format!("{call}, and ncclCommSplit"));
        this.store(2, Relaxed);
        assert_eq!(membership.describe_rank(0), call);
    }

    #[test]
    fn a_failure_survives_packing_and_unpacking() {
        let failure = Failure { code: Code::InvalidUsage, culprit: 63, finder: 1 };
        assert_eq!(Failure::unpack(failure.pack()), Some(failure));
        assert_eq!(Failure::unpack(0), None);
    }
}
