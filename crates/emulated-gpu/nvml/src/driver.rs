//! Bindings to the emulated driver, which knows the cards.

use std::ffi::{c_int, c_uint};
use std::sync::Once;

use c_abi::{DriverError, driver_functions};

use crate::card::Card;
use crate::ffi::{Result, Status};

driver_functions! {
    DriverError;
    safe {
        cuDriverGetVersion(version: &mut c_int);
        emulatedGpuGetCardCount(count: &mut c_uint);
    }
    unsafe {
        emulatedGpuGetCard(number: c_uint, card: &mut Card, size: usize);
    }
}

/// Prints a message on standard error, but only the first time.
fn report_once(line: &str) {
    static REPORTED: Once = Once::new();
    REPORTED.call_once(|| c_abi::report("emulated NVML", line));
}

/// Converts a driver error to a status. If the driver could not be called, prints the reason.
fn checked(result: std::result::Result<(), DriverError>, code: Status) -> Result {
    result.map_err(|error| match error {
        DriverError::NotCalled(fault) => {
            report_once(&fault.to_string());
            fault.into()
        }
        DriverError::Code(_) => code,
    })
}

/// CUDA's version, such as 13050 for 13.5.
///
/// # Errors
/// `LIBRARY_NOT_FOUND` without a driver, `DRIVER_NOT_LOADED` if the driver is not the emulated one. These are also
/// errors of the functions below.
pub(crate) fn version() -> Result<c_int> {
    let mut version = 0;
    checked(cuDriverGetVersion(&mut version), Status::Unknown)?;
    Ok(version)
}

/// The version as text, such as "13.5".
pub(crate) fn version_text() -> Result<String> {
    let version = version()?;
    Ok(format!("{}.{}", version / 1000, version % 1000 / 10))
}

/// The number of cards.
///
/// # Errors
/// `UNKNOWN` if the driver rejects the value of an environment variable `EMULATED_GPU_…`.
pub(crate) fn count() -> Result<c_uint> {
    let mut count = 0;
    let counted = emulatedGpuGetCardCount(&mut count);
    if matches!(counted, Err(DriverError::Code(_))) {
        report_once(
            "the driver rejects the value of an environment variable EMULATED_GPU_…; cuInit reports \
             which one",
        );
    }
    checked(counted, Status::Unknown)?;
    Ok(count)
}

/// The card with this index.
///
/// # Errors
/// `INVALID_ARGUMENT` if there is no such card.
pub(crate) fn card(number: c_uint) -> Result<Card> {
    let mut card = Card::default();
    // SAFETY: the size that is passed is the structure's size.
    let code = unsafe { emulatedGpuGetCard(number, &mut card, size_of::<Card>()) };
    checked(code, Status::InvalidArgument)?;
    Ok(card)
}
