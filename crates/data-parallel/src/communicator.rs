//! One rank's NCCL communicator.
//!
//! It uses cudarc's `result` layer, because the safe layer's `Drop` aborts collectives in flight, and panics
//! if it can't.
#![allow(unsafe_code, reason = "NCCL is a C library")]

use std::ffi::c_char;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::error::{Error, Result};
use crate::rank::Rank;
use cudarc::nccl::result::{self, NcclError};
use cudarc::nccl::sys::{ncclComm_t, ncclCommGetAsyncError, ncclResult_t, ncclUniqueId};

/// NCCL's id of a communicator: rank 0 makes it, and every rank joins with it.
pub(crate) type Id = [c_char; 128];

/// A communicator. Any thread may abort it, after it has noticed that another rank is lost: the collectives
/// that wait for that rank then end, and later ones fail.
pub(crate) struct Communicator {
    place: Rank,
    /// NCCL's handle; `None` after an abort.
    comm: Mutex<Option<Handle>>,
}

struct Handle(ncclComm_t);

// SAFETY: NCCL allows calls from any thread, one at a time; the mutex ensures that.
unsafe impl Send for Handle {}

impl fmt::Debug for Communicator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Communicator").field("place", &self.place).finish_non_exhaustive()
    }
}

/// Makes an id.
pub(crate) fn new_id() -> Result<Id> {
    let id = result::get_uniqueid().map_err(|error| refused("ncclGetUniqueId", &error))?;
    Ok(id.internal)
}

impl Communicator {
    /// Joins the communicator with this id, and waits until all ranks have joined. The calling thread's current
    /// device becomes this rank's.
    pub(crate) fn join(id: Id, place: Rank) -> Result<Arc<Self>> {
        let mut comm = std::ptr::null_mut();
        let number = |n: usize| i32::try_from(n).unwrap_or(i32::MAX);
        let (ranks, rank) = (number(place.world_size), number(place.rank));
        // SAFETY: `comm` lives for the call.
        let joined = unsafe {
            result::comm_init_rank(&raw mut comm, ranks, ncclUniqueId { internal: id }, rank)
        };
        joined.map_err(|error| refused("ncclCommInitRank", &error))?;
        Ok(Arc::new(Self { place, comm: Mutex::new(Some(Handle(comm))) }))
    }

    pub(crate) const fn place(&self) -> Rank {
        self.place
    }

    fn lock(&self) -> MutexGuard<'_, Option<Handle>> {
        self.comm.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Calls NCCL with the communicator; `name` is the function, for error messages.
    ///
    /// # Errors
    /// [`Error::Lost`] if another rank is lost; [`Error::Nccl`] if NCCL returns an error.
    pub(crate) fn call(
        &self,
        name: &'static str,
        call: impl FnOnce(ncclComm_t) -> Result<(), NcclError>,
    ) -> Result<()> {
        let comm = self.lock();
        let Some(Handle(comm)) = &*comm else { return Err(Error::Lost) };
        if is_lost(*comm) {
            return Err(Error::Lost);
        }
        call(*comm).map_err(|error| refused(name, &error))
    }

    /// Aborts the communicator, and the collectives that wait for other ranks.
    pub(crate) fn abort(&self) {
        if let Some(Handle(comm)) = self.lock().take() {
            // SAFETY: the handle was taken out of `comm`, so no other call can use it. Failures are ignored, because
            // the communicator is given up anyway.
            let _ = unsafe { result::comm_abort(comm) };
        }
    }

    /// Whether the communicator was aborted, or NCCL has noticed that another rank is lost.
    pub(crate) fn is_lost(&self) -> bool {
        self.lock().as_ref().is_none_or(|Handle(comm)| is_lost(*comm))
    }
}

/// Whether NCCL has noticed that another rank is lost.
fn is_lost(comm: ncclComm_t) -> bool {
    let mut error = ncclResult_t::ncclSuccess;
    // SAFETY: the communicator lives, and `error` lives for the call.
    let asked = unsafe { ncclCommGetAsyncError(comm, &raw mut error) };
    asked == ncclResult_t::ncclSuccess && error == ncclResult_t::ncclRemoteError
}

impl Drop for Communicator {
    fn drop(&mut self) {
        if let Some(Handle(comm)) = self.lock().take() {
            // SAFETY: the handle was taken out of `comm`, and the streams were synchronised, so no collective is in
            // flight.
            let _ = unsafe { result::comm_destroy(comm) };
        }
    }
}

fn refused(call: &'static str, error: &NcclError) -> Error {
    match error.0 {
        ncclResult_t::ncclRemoteError => Error::Lost,
        code => Error::Nccl { call, status: format!("{code:?}") },
    }
}
