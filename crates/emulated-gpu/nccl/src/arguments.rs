//! Checks of the arguments that callers pass.

use std::ffi::c_int;

use emulated_blas::driver;

use crate::element::DataType;
use crate::ffi::{Error, In, Result};

/// `NCCL_API_MAGIC`
const MAGIC: u32 = 0xcafe_beef;

/// The leading fields of `ncclConfig_t`, which are the same in every version.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Config {
    size: usize,
    magic: u32,
    version: u32,
    blocking: c_int,
}

/// Checks a configuration; null is valid.
///
/// # Errors
/// `ncclInvalidArgument` if it is not initialised, or `blocking` is neither 0, 1 nor undefined.
pub(crate) fn check_config(config: In<'_, Config>) -> Result {
    let Some(Config { magic, blocking, .. }) = config.get_if_given() else { return Ok(()) };
    if magic != MAGIC {
        return Err(Error::argument("config was not initialised with NCCL_CONFIG_INITIALIZER"));
    }
    // `c_int::MIN` is NCCL_CONFIG_UNDEF_INT. The calls block here even for the value 0, which NCCL
    // allows.
    if !matches!(blocking, 0 | 1 | c_int::MIN) {
        return Err(Error::argument(format!("config's blocking is {blocking}: it must be 0 or 1")));
    }
    Ok(())
}

/// Converts an `ncclDataType_t`.
///
/// # Errors
/// `ncclInvalidArgument` if the number is not a data type.
pub(crate) fn data_type(number: c_int) -> Result<DataType> {
    DataType::from_code(number).ok_or_else(|| {
        Error::argument(format!("datatype is {number}, which is not an ncclDataType_t"))
    })
}

/// Checks that a buffer is inside a single allocation, unless it is empty.
///
/// # Errors
/// `ncclInvalidArgument`, naming the buffer as `what`, if it is not inside one allocation.
pub(crate) fn check_buffer(address: u64, count: u64, data_type: DataType, what: &str) -> Result {
    let bytes = count.checked_mul(data_type.size() as u64);
    let end = bytes.and_then(|bytes| address.checked_add(bytes));
    let Some(end) = end else {
        return Err(Error::argument(format!(
            "{what}: {count} elements are more than the address space can hold"
        )));
    };
    if count == 0 {
        return Ok(());
    }
    let driver = driver()?;
    if let Some(range) = driver.allocation_of(address)?
        && (end <= range.end() || end <= driver.with_adjacent_mappings(range)?.end())
    {
        return Ok(());
    }
    Err(Error::argument(format!(
        "{what}: {count} elements of {} at {address:#x} are not inside one allocation of a device",
        data_type.name()
    )))
}
