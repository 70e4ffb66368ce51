//! Field values, queried in batches with a status for each field.

use std::ffi::{c_int, c_uint};

use c_abi::export;

use crate::ffi::{Out, Result, Status};
use crate::session::Handle;

/// `nvmlFieldValue_t`
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct FieldValue {
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
/// The pointer must be null or point to `count` fields.
unsafe fn for_each_field(
    device: Handle,
    count: c_int,
    fields: Out<'_, FieldValue>,
    status: impl Fn(c_uint) -> Status,
) -> Result {
    device.number()?;
    fields.required()?;
    let count = usize::try_from(count).ok().filter(|count| *count > 0);
    for index in 0..count.ok_or(Status::InvalidArgument)? {
        let (place, field) = (fields.offset(index), fields.offset(index).get()?);
        let status = status(field.which) as c_uint;
        let (time, latency) = (0, 0);
        place.set(FieldValue { time, latency, kind: UNSIGNED, status, value: 0, ..field })?;
    }
    Ok(())
}

export! {
    /// Returns field values of a card. Only the number of its links, 0, is supported.
    fn nvmlDeviceGetFieldValues(device: Handle, count: c_int, fields: Out<'_, FieldValue>) {
        let status = |which| match which {
            LINKS => Status::Success,
            _ => Status::NotSupported,
        };
        for_each_field(device, count, fields, status)
    }

    /// Resets field values. No field of an emulated card can be reset, so each gets an error
    /// status.
    fn nvmlDeviceClearFieldValues(device: Handle, count: c_int, fields: Out<'_, FieldValue>) {
        for_each_field(device, count, fields, |_| Status::NotSupported)
    }
}
