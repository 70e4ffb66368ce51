//! Which processes use a card. Those of other processes, whose cards are their own, are not known: the calling one is
//! all that is ever listed, when it has a context on the card.

use std::ffi::c_uint;

use c_abi::export;

use crate::ffi::{Out, Result, Status};
use crate::out::versioned;
use crate::session::Handle;

/// Of what a card has no parts for.
const NONE: c_uint = c_uint::MAX;

/// `nvmlProcessInfo_v1_t`
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Process1 {
    process: c_uint,
    /// What C leaves empty, here and below.
    gap: c_uint,
    /// Bytes of memory.
    used: u64,
}

/// `nvmlProcessInfo_v2_t`
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Process2 {
    process: c_uint,
    gap: c_uint,
    used: u64,
    gpu_instance: c_uint,
    compute_instance: c_uint,
}

/// `nvmlProcessDetail_v1_t`
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Detail {
    process: Process2,
    used_protected: u64,
}

/// `nvmlProcessDetailList_v1_t`
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Details {
    version: c_uint,
    mode: c_uint,
    count: c_uint,
    processes: Option<std::ptr::NonNull<Detail>>,
}

/// `NVML_PROCESS_MODE_…`
const COMPUTE: c_uint = 0;
const GRAPHICS: c_uint = 1;
const MPS: c_uint = 2;
const ALL: c_uint = 3;

/// The process that computes on a card.
fn computing(device: Handle) -> Result<Option<Process2>> {
    let card = device.card()?;
    Ok((card.contexts > 0).then(|| Process2 {
        process: std::process::id(),
        gap: 0,
        used: card.used,
        gpu_instance: NONE,
        compute_instance: NONE,
    }))
}

/// Writes a list of one process or none.
///
/// # Safety
/// The caller has written to `count` for how many there is place.
unsafe fn list<T>(process: Option<T>, count: Out<'_, c_uint>, to: Out<'_, T>) -> Result {
    // SAFETY: the caller's promise.
    let place = unsafe { count.get()? };
    count.set(c_uint::from(process.is_some()))?;
    match process {
        Some(_) if place == 0 => Err(Status::InsufficientSize),
        Some(process) => to.set(process),
        None => Ok(()),
    }
}

/// Writes an empty list.
///
/// # Safety
/// As [`list`].
unsafe fn nobody<T>(device: Handle, count: Out<'_, c_uint>, to: Out<'_, T>) -> Result {
    device.number()?;
    // SAFETY: the caller's promise.
    unsafe { list(None, count, to) }
}

fn first_version(process: Process2) -> Process1 {
    Process1 { process: process.process, gap: 0, used: process.used }
}

export! {
    /// Who computes on a card.
    fn nvmlDeviceGetComputeRunningProcesses(device: Handle, count: Out<'_, c_uint>, to: Out<'_, Process1>) {
        // SAFETY: the caller has written there for how many there is place.
        unsafe { list(computing(device)?.map(first_version), count, to) }
    }

    /// The same.
    fn nvmlDeviceGetComputeRunningProcesses_v2 / nvmlDeviceGetComputeRunningProcesses_v3(
        device: Handle, count: Out<'_, c_uint>, to: Out<'_, Process2>
    ) {
        // SAFETY: the caller has written there for how many there is place.
        unsafe { list(computing(device)?, count, to) }
    }

    /// Who draws: nobody.
    fn nvmlDeviceGetGraphicsRunningProcesses(device: Handle, count: Out<'_, c_uint>, to: Out<'_, Process1>) {
        // SAFETY: as of `list`.
        unsafe { nobody(device, count, to) }
    }

    /// The same.
    fn nvmlDeviceGetGraphicsRunningProcesses_v2 / nvmlDeviceGetGraphicsRunningProcesses_v3(
        device: Handle, count: Out<'_, c_uint>, to: Out<'_, Process2>
    ) {
        // SAFETY: as of `list`.
        unsafe { nobody(device, count, to) }
    }

    /// Who computes through another process: nobody.
    fn nvmlDeviceGetMPSComputeRunningProcesses(device: Handle, count: Out<'_, c_uint>, to: Out<'_, Process1>) {
        // SAFETY: as of `list`.
        unsafe { nobody(device, count, to) }
    }

    /// The same.
    fn nvmlDeviceGetMPSComputeRunningProcesses_v2 / nvmlDeviceGetMPSComputeRunningProcesses_v3(
        device: Handle, count: Out<'_, c_uint>, to: Out<'_, Process2>
    ) {
        // SAFETY: as of `list`.
        unsafe { nobody(device, count, to) }
    }

    /// Who does what is asked for on a card.
    fn nvmlDeviceGetRunningProcessDetailList(device: Handle, out: Out<'_, Details>) {
        device.number()?;
        // SAFETY: the caller has written such a structure there.
        let details = unsafe { versioned::<1, _>(out)? };
        let process = match details.mode {
            COMPUTE | ALL => computing(device)?,
            GRAPHICS | MPS => None,
            _ => return Err(Status::InvalidArgument),
        };
        let count = c_uint::from(process.is_some());
        out.set(Details { count, ..details })?;
        let Some(process) = process else { return Ok(()) };
        match details.processes {
            // SAFETY: the caller vouches for a place for as many as it says.
            Some(place) if details.count > 0 => unsafe {
                place.write_unaligned(Detail { process, used_protected: 0 });
                Ok(())
            },
            _ => Err(Status::InsufficientSize),
        }
    }
}
