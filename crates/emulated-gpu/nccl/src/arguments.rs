//! What the functions are called with, checked.

use std::ffi::c_int;

use emulated_blas::driver;

use crate::element::DataType;
use crate::ffi::{Error, Result};

/// `NCCL_API_MAGIC`
const MAGIC: u32 = 0xcafe_beef;

/// What `ncclConfig_t` begins with in every version.
#[repr(C)]
pub(crate) struct Config {
    size: usize,
    magic: u32,
    version: u32,
    blocking: c_int,
}

/// Whether there is a place at all.
///
/// # Errors
/// `ncclInvalidArgument`
pub(crate) fn required<T>(pointer: *const T, what: &str) -> Result {
    if pointer.is_null() {
        return Err(Error::argument(format!("{what} is null")));
    }
    Ok(())
}

/// Writes a value where a program wants it, at whatever address.
///
/// # Errors
/// `ncclInvalidArgument` if the pointer is null.
///
/// # Safety
/// The pointer is null, or writable for a value.
pub(crate) unsafe fn set<T>(pointer: *mut T, value: T, what: &str) -> Result {
    required(pointer, what)?;
    // SAFETY: the caller's promise.
    unsafe { pointer.write_unaligned(value) };
    Ok(())
}

/// Checks a configuration, where there is one.
///
/// # Errors
/// `ncclInvalidArgument` if it is not initialised, or `blocking` is no flag.
///
/// # Safety
/// The pointer is null, or readable for a configuration.
pub(crate) unsafe fn check_config(config: *const Config) -> Result {
    if config.is_null() {
        return Ok(());
    }
    // SAFETY: the caller's promise.
    let Config { magic, blocking, .. } = unsafe { config.read_unaligned() };
    if magic != MAGIC {
        return Err(Error::argument("config was not initialised with NCCL_CONFIG_INITIALIZER"));
    }
    // NCCL_CONFIG_UNDEF_INT. Calls may wait in either case, and don't have to.
    if !matches!(blocking, 0 | 1 | c_int::MIN) {
        return Err(Error::argument(format!("config's blocking is {blocking}: 0 or 1")));
    }
    Ok(())
}

/// The type of a number.
///
/// # Errors
/// `ncclInvalidArgument`
pub(crate) fn data_type(number: c_int) -> Result<DataType> {
    DataType::of(number)
        .ok_or_else(|| Error::argument(format!("datatype is {number}, which is no ncclDataType_t")))
}

/// Bytes have to be inside one allocation, where there are any.
pub(crate) fn check_buffer(address: u64, count: u64, data_type: DataType, what: &str) -> Result {
    let bytes = count.checked_mul(data_type.size() as u64);
    let end = bytes.and_then(|bytes| address.checked_add(bytes));
    let Some(end) = end else {
        return Err(Error::argument(format!(
            "{what}: {count} elements are more than any memory has"
        )));
    };
    if count == 0 {
        return Ok(());
    }
    let driver = driver()?;
    if let Some(range) = driver.range_of(address)?
        && (end <= range.end() || end <= driver.whole_of(range)?.end())
    {
        return Ok(());
    }
    Err(Error::argument(format!(
        "{what}: {count} elements of {} at {address:#x} are not inside one allocation of a device",
        data_type.name()
    )))
}
