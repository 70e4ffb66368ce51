//! Processes that use a card. Other processes have their own emulated cards and are unknown. Only the calling process
//! is listed, once it has a context on the card.

use std::ffi::c_uint;

use c_abi::export;

use crate::ffi::{Out, Result, Status};
use crate::out::versioned;
use crate::session::Handle;

/// The number that means "no MIG instance".
const NO_INSTANCE: c_uint = c_uint::MAX;

/// `nvmlProcessInfo_v1_t`
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct ProcessV1 {
    process: c_uint,
    /// Padding.
    padding: c_uint,
    /// Memory in bytes.
    used: u64,
}

/// `nvmlProcessInfo_v2_t`
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct ProcessV2 {
    process: c_uint,
    padding: c_uint,
    used: u64,
    gpu_instance: c_uint,
    compute_instance: c_uint,
}

/// `nvmlProcessDetail_v1_t`
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct ProcessDetail {
    process: ProcessV2,
    used_protected: u64,
}

/// `nvmlProcessDetailList_v1_t`
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct ProcessDetailList {
    version: c_uint,
    mode: c_uint,
    count: c_uint,
    processes: Option<std::ptr::NonNull<ProcessDetail>>,
}

/// `NVML_PROCESS_MODE_…`
const COMPUTE: c_uint = 0;
const GRAPHICS: c_uint = 1;
const MPS: c_uint = 2;
const ALL: c_uint = 3;

/// The process that uses a card for computation; `None` if there is none.
fn computing(device: Handle) -> Result<Option<ProcessV2>> {
    let card = device.card()?;
    Ok((card.contexts > 0).then(|| ProcessV2 {
        process: std::process::id(),
        padding: 0,
        used: card.used,
        gpu_instance: NO_INSTANCE,
        compute_instance: NO_INSTANCE,
    }))
}

/// Writes a list of at most one process.
///
/// # Safety
/// The caller must have written the list's capacity to `count`.
unsafe fn list<T>(process: Option<T>, count: Out<'_, c_uint>, to: Out<'_, T>) -> Result {
    let capacity = count.get()?;
    count.set(c_uint::from(process.is_some()))?;
    match process {
        Some(_) if capacity == 0 => Err(Status::InsufficientSize),
        Some(process) => to.set(process),
        None => Ok(()),
    }
}

/// The process that uses a card without computing on it: always `None`.
fn not_computing(device: Handle) -> Result<Option<ProcessV2>> {
    device.number()?;
    Ok(None)
}

fn first_version(process: ProcessV2) -> ProcessV1 {
    ProcessV1 { process: process.process, padding: 0, used: process.used }
}

/// Declares functions that list processes: one for the first version of the structure, and one for its later versions.
macro_rules! lists {
    ($($(#[$meta:meta])* $name:ident, $name_v2:ident / $name_v3:ident = $processes:ident;)*) => { export! {$(
        $(#[$meta])*
        fn $name(device: Handle, count: Out<'_, c_uint>, to: Out<'_, ProcessV1>) {
            list($processes(device)?.map(first_version), count, to)
        }

        #[doc = concat!("[`", stringify!($name), "`] with the MIG instances of the processes.")]
        fn $name_v2 / $name_v3(device: Handle, count: Out<'_, c_uint>, to: Out<'_, ProcessV2>) {
            list($processes(device)?, count, to)
        }
    )*}};
}

lists! {
    /// Lists the processes that compute on a card.
    nvmlDeviceGetComputeRunningProcesses,
        nvmlDeviceGetComputeRunningProcesses_v2 / nvmlDeviceGetComputeRunningProcesses_v3 = computing;
    /// Lists the processes that draw on a card: always empty.
    nvmlDeviceGetGraphicsRunningProcesses,
        nvmlDeviceGetGraphicsRunningProcesses_v2 / nvmlDeviceGetGraphicsRunningProcesses_v3 = not_computing;
    /// Lists the processes that compute through MPS: always empty.
    nvmlDeviceGetMPSComputeRunningProcesses,
        nvmlDeviceGetMPSComputeRunningProcesses_v2 / nvmlDeviceGetMPSComputeRunningProcesses_v3 = not_computing;
}

export! {
    /// Lists the processes that use a card in a given mode.
    fn nvmlDeviceGetRunningProcessDetailList(device: Handle, out: Out<'_, ProcessDetailList>) {
        device.number()?;
        let details = versioned::<1, _>(out)?;
        let process = match details.mode {
            COMPUTE | ALL => computing(device)?,
            GRAPHICS | MPS => None,
            _ => return Err(Status::InvalidArgument),
        };
        let count = c_uint::from(process.is_some());
        out.set(ProcessDetailList { count, ..details })?;
        let Some(process) = process else { return Ok(()) };
        match details.processes {
            Some(list) if details.count > 0 => {
                list.write_unaligned(ProcessDetail { process, used_protected: 0 });
                Ok(())
            }
            _ => Err(Status::InsufficientSize),
        }
    }
}
