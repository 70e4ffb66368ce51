//! Communicators, and the registry of their handles.

use std::collections::HashMap;
use std::ffi::c_int;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use crate::driver::Context;
use crate::ffi::{Error, Result};
use crate::id::UniqueId;
use crate::membership::Membership;
use crate::reduction::{FIRST_CUSTOM_OP, Factor, Reduction};
use crate::region::{MAX_RANKS, Region};

/// `ncclComm_t`. It is not an address, so an invalid handle can be detected.
pub(crate) type Handle = usize;

/// A communicator.
#[derive(Debug)]
pub(crate) struct Communicator {
    pub(crate) handle: Handle,
    pub(crate) membership: Membership,
    pub(crate) device: i32,
    pub(crate) context: Context,
    /// The number of pieces of work enqueued and finished. They run one after another in the order
    /// of the calls, whatever their streams.
    pub(crate) tickets: AtomicU64,
    pub(crate) done: AtomicU64,
    /// The lock that the running piece of work holds.
    pub(crate) turn: Mutex<()>,
    /// The number of collectives that this rank has begun.
    pub(crate) operations: AtomicU64,
    /// The number of messages sent to each rank, and received from it.
    pub(crate) sent: Vec<AtomicU64>,
    pub(crate) received: Vec<AtomicU64>,
    /// Custom reductions, created by `ncclRedOpCreatePreMulSum`.
    reductions: Mutex<Vec<Option<Reduction>>>,
    /// The first error of this rank.
    error: Mutex<Option<Error>>,
    finalized: AtomicBool,
    /// Pieces of work that are pending in streams or graphs.
    pieces: AtomicU64,
}

/// All communicators of this process.
fn registry() -> MutexGuard<'static, HashMap<Handle, Arc<Communicator>>> {
    static ALL: OnceLock<Mutex<HashMap<Handle, Arc<Communicator>>>> = OnceLock::new();
    ALL.get_or_init(Mutex::default).lock().unwrap_or_else(PoisonError::into_inner)
}

/// Finds the communicator of a handle.
///
/// # Errors
/// `ncclInvalidArgument` if there is no such communicator.
pub(crate) fn find(handle: Handle) -> Result<Arc<Communicator>> {
    let communicator = registry().get(&handle).cloned();
    communicator.ok_or_else(|| {
        Error::argument(if handle == 0 {
            "the communicator is null".to_owned()
        } else {
            format!("{handle:#x} is not a communicator; was it destroyed?")
        })
    })
}

/// Checks the number of ranks and the number of this rank.
///
/// # Errors
/// `ncclInvalidArgument` if either is out of range.
pub(crate) fn check_ranks(ranks: c_int, rank: c_int) -> Result<(usize, usize)> {
    let count = usize::try_from(ranks).ok().filter(|count| (1..=MAX_RANKS).contains(count));
    let count = count.ok_or_else(|| {
        Error::argument(format!("nranks is {ranks}: it must be from 1 to {MAX_RANKS}"))
    })?;
    let valid_rank = usize::try_from(rank).ok().filter(|rank| *rank < count);
    let rank = valid_rank
        .ok_or_else(|| Error::argument(format!("rank is {rank}, but nranks is {ranks}")))?;
    Ok((count, rank))
}

impl Communicator {
    /// Creates a communicator from an id, and waits until all ranks have joined.
    ///
    /// # Errors
    /// If the id is invalid, the system has no shared memory left, or a rank does not join.
    pub(crate) fn join(
        id: &UniqueId,
        (ranks, rank): (usize, usize),
        (context, device): (Context, i32),
    ) -> Result<Arc<Self>> {
        static NEXT: AtomicUsize = AtomicUsize::new(1);
        let region = Region::open(&id.name()?, (ranks, rank))?;
        let membership = Membership::join(region, rank, device)?;
        let counts = || (0..ranks).map(|_| AtomicU64::new(0)).collect();
        let handle = NEXT.fetch_add(1, Relaxed) << 4;
        let communicator = Arc::new(Self {
            handle,
            membership,
            device,
            context,
            tickets: AtomicU64::new(0),
            done: AtomicU64::new(0),
            turn: Mutex::default(),
            operations: AtomicU64::new(0),
            sent: counts(),
            received: counts(),
            reductions: Mutex::default(),
            error: Mutex::default(),
            finalized: AtomicBool::new(false),
            pieces: AtomicU64::new(0),
        });
        registry().insert(handle, Arc::clone(&communicator));
        Ok(communicator)
    }

    pub(crate) fn ranks(&self) -> usize {
        self.membership.region.ranks
    }

    pub(crate) fn rank(&self) -> usize {
        self.membership.rank
    }

    /// Checks that the communicator can still be used.
    ///
    /// # Errors
    /// The error of this or another rank; `ncclInvalidUsage` once the communicator is finalized.
    pub(crate) fn check(&self) -> Result {
        if let Some(error) = self.error() {
            return Err(error);
        }
        if self.finalized.load(Relaxed) {
            return Err(Error::invalid_usage("the communicator has been finalized"));
        }
        Ok(())
    }

    /// The error that has ended the communicator, on this rank or on another.
    pub(crate) fn error(&self) -> Option<Error> {
        let error = self.error.lock().unwrap_or_else(PoisonError::into_inner).clone();
        error.or_else(|| self.membership.failure())
    }

    /// Records an error; the first one is kept.
    pub(crate) fn fail(&self, error: &Error) {
        let mut first = self.error.lock().unwrap_or_else(PoisonError::into_inner);
        first.get_or_insert_with(|| error.clone());
    }

    /// Whether this rank has aborted the communicator.
    pub(crate) fn is_aborted(&self) -> bool {
        self.membership.aborted.load(Relaxed)
    }

    /// Refuses further calls. The rank leaves when its work in streams has finished: until then,
    /// other ranks may wait for it.
    pub(crate) fn finalize(&self) {
        self.finalized.store(true, SeqCst);
        if self.pieces.load(SeqCst) == 0 {
            self.membership.leave();
        }
    }

    /// Records that a piece of work is pending in a stream or a graph.
    pub(crate) fn add_piece(&self) {
        self.pieces.fetch_add(1, SeqCst);
    }

    /// Records that a piece of work has finished, or will never run.
    pub(crate) fn end_piece(&self) {
        if self.pieces.fetch_sub(1, SeqCst) == 1 && self.finalized.load(SeqCst) {
            self.membership.leave();
        }
    }

    /// Invalidates the handle. Work in streams continues, unless `abort` is set.
    pub(crate) fn release(&self, abort: bool) {
        if abort {
            self.membership.aborted.store(true, Relaxed);
            self.membership.leave();
        }
        registry().remove(&self.handle);
    }

    /// Adds a custom reduction and returns its number.
    pub(crate) fn add_reduction(&self, factor: Factor) -> u32 {
        let mut list = self.reductions.lock().unwrap_or_else(PoisonError::into_inner);
        list.push(Some(Reduction::Scaled(factor)));
        FIRST_CUSTOM_OP + list.len() as u32 - 1
    }

    /// Removes a custom reduction.
    ///
    /// # Errors
    /// `ncclInvalidArgument` if there is no such custom reduction.
    pub(crate) fn remove_reduction(&self, number: u32) -> Result {
        let mut list = self.reductions.lock().unwrap_or_else(PoisonError::into_inner);
        let reduction =
            number.checked_sub(FIRST_CUSTOM_OP).and_then(|index| list.get_mut(index as usize));
        match reduction.and_then(Option::take) {
            Some(_) => Ok(()),
            None => {
                Err(Error::argument(format!("op {number} was not created for this communicator")))
            }
        }
    }

    /// The reduction with this number.
    ///
    /// # Errors
    /// `ncclInvalidArgument` if there is no such reduction.
    pub(crate) fn reduction(&self, number: u32) -> Result<Reduction> {
        let Some(index) = number.checked_sub(FIRST_CUSTOM_OP) else {
            return Reduction::built_in(number);
        };
        let list = self.reductions.lock().unwrap_or_else(PoisonError::into_inner);
        list.get(index as usize).copied().flatten().ok_or_else(|| {
            Error::argument(format!(
                "op {number} was not created for this communicator, or was destroyed"
            ))
        })
    }

    /// The line that is printed when work of this rank fails.
    pub(crate) fn describe_error(&self, name: &str, error: &Error) -> String {
        let Error { code, why } = error;
        format!("{name}, rank {} of {}: {why} ({code:?})", self.rank(), self.ranks())
    }
}
