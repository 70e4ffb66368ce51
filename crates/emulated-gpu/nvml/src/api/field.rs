//! Values by their numbers, many at once, each with a status of its own.

use std::ffi::{c_int, c_uint};

use c_abi::export;

use crate::ffi::{Out, Result, Status};
use crate::session::Handle;

/// `nvmlFieldValue_t`
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Field {
    which: c_uint,
    scope: c_uint,
    time: i64,
    latency: i64,
    kind: c_uint,
    status: c_uint,
    value: u64,
}

/// `NVML_FI_DEV_NVLINK_LINK_COUNT`
const LINKS: c_uint = 91;
/// `NVML_VALUE_TYPE_UNSIGNED_INT`
const UNSIGNED: c_uint = 1;

/// # Safety
/// The place is null, or has as many fields.
unsafe fn each(
    device: Handle,
    count: c_int,
    fields: Out<'_, Field>,
    status: impl Fn(c_uint) -> Status,
) -> Result {
    device.number()?;
    fields.required()?;
    let count = usize::try_from(count).ok().filter(|count| *count > 0);
    for index in 0..count.ok_or(Status::InvalidArgument)? {
        // SAFETY: the caller's promise.
        let (place, asked) = unsafe { (fields.offset(index), fields.offset(index).get()?) };
        let status = status(asked.which) as c_uint;
        let (time, latency) = (0, 0);
        place.set(Field { time, latency, kind: UNSIGNED, status, value: 0, ..asked })?;
    }
    Ok(())
}

export! {
    /// Values of a card: the number of its links, 0, is the only one there is.
    fn nvmlDeviceGetFieldValues(device: Handle, count: c_int, fields: Out<'_, Field>) {
        let status = |which| match which {
            LINKS => Status::Success,
            _ => Status::NotSupported,
        };
        // SAFETY: the caller vouches for as many fields.
        unsafe { each(device, count, fields, status) }
    }

    /// Sets values back to 0, of which there is none that counts.
    fn nvmlDeviceClearFieldValues(device: Handle, count: c_int, fields: Out<'_, Field>) {
        // SAFETY: the caller vouches for as many fields.
        unsafe { each(device, count, fields, |_| Status::NotSupported) }
    }
}
