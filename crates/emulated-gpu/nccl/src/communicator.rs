//! Communicators: a rank's seat among the others, with the device that it works on.

use std::collections::HashMap;
use std::ffi::c_int;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use crate::driver::Context;
use crate::ffi::{Code, Error, Result};
use crate::id::UniqueId;
use crate::meeting::Seat;
use crate::reduction::{FIRST_OWN, Factor, Reduction};
use crate::region::{MOST_RANKS, Region};

/// `ncclComm_t`: not an address, so that a wrong one is found out.
pub(crate) type Handle = usize;

/// A communicator.
#[derive(Debug)]
pub(crate) struct Communicator {
    pub(crate) handle: Handle,
    pub(crate) seat: Seat,
    pub(crate) device: i32,
    pub(crate) context: Context,
    /// The work that was put into streams, and the work that is done: one piece after another, in the
    /// order of the calls, whatever streams it is in.
    pub(crate) tickets: AtomicU64,
    pub(crate) done: AtomicU64,
    /// Held by the piece of work that runs.
    pub(crate) turn: Mutex<()>,
    /// Operations of all ranks that were begun.
    pub(crate) operations: AtomicU64,
    /// The messages that were sent to each rank, and received from it.
    pub(crate) sent: Vec<AtomicU64>,
    pub(crate) received: Vec<AtomicU64>,
    /// Operations that were made by `ncclRedOpCreatePreMulSum`.
    reductions: Mutex<Vec<Option<Reduction>>>,
    /// What has gone wrong.
    error: Mutex<Option<Error>>,
    finalized: AtomicBool,
    /// Pieces of work that are pending in streams or graphs.
    pieces: AtomicU64,
}

/// Every communicator of this process.
fn registry() -> MutexGuard<'static, HashMap<Handle, Arc<Communicator>>> {
    static ALL: OnceLock<Mutex<HashMap<Handle, Arc<Communicator>>>> = OnceLock::new();
    ALL.get_or_init(Mutex::default).lock().unwrap_or_else(PoisonError::into_inner)
}

/// The communicator of a handle.
///
/// # Errors
/// `ncclInvalidArgument`
pub(crate) fn find(handle: Handle) -> Result<Arc<Communicator>> {
    let found = registry().get(&handle).cloned();
    found.ok_or_else(|| {
        Error::argument(if handle == 0 {
            "the communicator is null".to_owned()
        } else {
            format!("{handle:#x} is no communicator; was it destroyed?")
        })
    })
}

/// Checks how many ranks there are to be, and which this one is.
///
/// # Errors
/// `ncclInvalidArgument`
pub(crate) fn check_ranks(ranks: c_int, rank: c_int) -> Result<(usize, usize)> {
    let count = usize::try_from(ranks).ok().filter(|count| (1..=MOST_RANKS).contains(count));
    let count = count.ok_or_else(|| {
        Error::argument(format!("nranks is {ranks}: from 1 to {MOST_RANKS} can be emulated"))
    })?;
    let own = usize::try_from(rank).ok().filter(|own| *own < count);
    let own = own.ok_or_else(|| Error::argument(format!("rank is {rank}, of {ranks} ranks")))?;
    Ok((count, own))
}

impl Communicator {
    /// Joins the ranks of an id, and waits until all are there.
    ///
    /// # Errors
    /// When the id is none, the system has no memory to share, or a rank does not come.
    pub(crate) fn join(
        id: &UniqueId,
        (ranks, rank): (usize, usize),
        (context, device): (Context, i32),
    ) -> Result<Arc<Self>> {
        static NEXT: AtomicUsize = AtomicUsize::new(1);
        let region = Region::open(&id.name()?, (ranks, rank))?;
        let seat = Seat::take(region, rank, device)?;
        let counts = || (0..ranks).map(|_| AtomicU64::new(0)).collect();
        let handle = NEXT.fetch_add(1, Relaxed) << 4;
        let communicator = Arc::new(Self {
            handle,
            seat,
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
        self.seat.region.ranks
    }

    pub(crate) fn rank(&self) -> usize {
        self.seat.rank
    }

    /// Fails when nothing can be done with it any more.
    ///
    /// # Errors
    /// What has gone wrong on this rank or on another; `ncclInvalidUsage` once it is finalized.
    pub(crate) fn check(&self) -> Result {
        if let Some(error) = self.error() {
            return Err(error);
        }
        if self.finalized.load(Relaxed) {
            return Err(Error::usage("the communicator has been finalized"));
        }
        Ok(())
    }

    /// What has gone wrong, on this rank or on another.
    pub(crate) fn error(&self) -> Option<Error> {
        let own = self.error.lock().unwrap_or_else(PoisonError::into_inner).clone();
        own.or_else(|| self.seat.failure())
    }

    /// Remembers what has gone wrong; the first error stays.
    pub(crate) fn fail(&self, error: &Error) {
        let mut own = self.error.lock().unwrap_or_else(PoisonError::into_inner);
        own.get_or_insert_with(|| error.clone());
    }

    /// Whether it has been aborted here.
    pub(crate) fn is_aborted(&self) -> bool {
        self.seat.aborted.load(Relaxed)
    }

    /// No more calls: the rank leaves when what stands in streams is done, as no rank needs to wait for
    /// it any longer.
    pub(crate) fn finalize(&self) {
        self.finalized.store(true, SeqCst);
        if self.pieces.load(SeqCst) == 0 {
            self.seat.leave();
        }
    }

    /// Records that a piece of work is pending in a stream or a graph.
    pub(crate) fn add_piece(&self) {
        self.pieces.fetch_add(1, SeqCst);
    }

    /// It is done, or will never be.
    pub(crate) fn end_piece(&self) {
        if self.pieces.fetch_sub(1, SeqCst) == 1 && self.finalized.load(SeqCst) {
            self.seat.leave();
        }
    }

    /// Its handle is not known any longer. Work that stands in streams goes on, unless it is aborted.
    pub(crate) fn forget(&self, abort: bool) {
        if abort {
            self.seat.aborted.store(true, Relaxed);
            self.seat.leave();
        }
        registry().remove(&self.handle);
    }

    /// An operation of the rank's own; its number.
    pub(crate) fn add_reduction(&self, factor: Factor) -> u32 {
        let mut list = self.reductions.lock().unwrap_or_else(PoisonError::into_inner);
        list.push(Some(Reduction::Scaled(factor)));
        FIRST_OWN + list.len() as u32 - 1
    }

    /// Takes it back.
    ///
    /// # Errors
    /// `ncclInvalidArgument`
    pub(crate) fn remove_reduction(&self, number: u32) -> Result {
        let mut list = self.reductions.lock().unwrap_or_else(PoisonError::into_inner);
        let own = number.checked_sub(FIRST_OWN).and_then(|index| list.get_mut(index as usize));
        match own.and_then(Option::take) {
            Some(_) => Ok(()),
            None => Err(Error::argument(format!("op {number} was not made for this communicator"))),
        }
    }

    /// The operation of a number.
    ///
    /// # Errors
    /// `ncclInvalidArgument`
    pub(crate) fn reduction(&self, number: u32) -> Result<Reduction> {
        let Some(index) = number.checked_sub(FIRST_OWN) else {
            return Reduction::built_in(number);
        };
        let list = self.reductions.lock().unwrap_or_else(PoisonError::into_inner);
        list.get(index as usize).copied().flatten().ok_or_else(|| {
            Error::argument(format!("op {number} was not made for this communicator, or destroyed"))
        })
    }

    /// What a rank says of an error that its work met.
    pub(crate) fn report(&self, name: &str, error: &Error) -> String {
        let code = Code::of(error.code as u32);
        format!("{name}, rank {} of {}: {} ({code:?})", self.rank(), self.ranks(), error.why)
    }
}
