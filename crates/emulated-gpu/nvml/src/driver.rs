//! The emulated driver, which knows the cards.

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

/// Reports something on standard error, the first time.
fn say(line: &str) {
    static SAID: Once = Once::new();
    SAID.call_once(|| c_abi::report("emulated NVML", line));
}

/// The status of a call of the driver's; if it can't be called, standard error says why.
fn checked(result: std::result::Result<(), DriverError>, refused: Status) -> Result {
    result.map_err(|error| match error {
        DriverError::NotCalled(fault) => {
            say(&fault.to_string());
            fault.into()
        }
        DriverError::Code(_) => refused,
    })
}

/// CUDA's version, as 13050 for 13.5.
///
/// # Errors
/// Here and below, `LIBRARY_NOT_FOUND` without a driver, and `DRIVER_NOT_LOADED` if it is not the emulated one.
pub(crate) fn version() -> Result<c_int> {
    let mut version = 0;
    checked(cuDriverGetVersion(&mut version), Status::Unknown)?;
    Ok(version)
}

/// The same, as "13.5".
pub(crate) fn version_text() -> Result<String> {
    let version = version()?;
    Ok(format!("{}.{}", version / 1000, version % 1000 / 10))
}

/// How many cards there are.
///
/// # Errors
/// `UNKNOWN` if the driver does not understand the environment.
pub(crate) fn count() -> Result<c_uint> {
    let mut count = 0;
    let counted = emulatedGpuGetCardCount(&mut count);
    if matches!(counted, Err(DriverError::Code(_))) {
        say(
            "the driver does not understand a variable of the environment, EMULATED_GPU_…; cuInit says \
             which",
        );
    }
    checked(counted, Status::Unknown)?;
    Ok(count)
}

/// A card by its number.
///
/// # Errors
/// `INVALID_ARGUMENT` if there are not that many.
pub(crate) fn card(number: c_uint) -> Result<Card> {
    let mut card = Card::default();
    // SAFETY: the place has the size that is told.
    let found = unsafe { emulatedGpuGetCard(number, &mut card, size_of::<Card>()) };
    checked(found, Status::InvalidArgument)?;
    Ok(card)
}
