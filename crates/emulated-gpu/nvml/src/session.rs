//! Whether NVML is initialised, and the handles of cards.

use std::ffi::c_uint;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::card::Card;
use crate::driver;
use crate::ffi::{Result, Status};

/// How often it was initialised, and not shut down. No lock: a process may be forked at any time.
static TIMES: AtomicU32 = AtomicU32::new(0);

/// The most cards that can be emulated.
const MOST: usize = 64;
/// A handle is the address of one of these, which nobody reads.
static HANDLES: [u8; MOST] = [0; MOST];

/// Initialises once more.
///
/// # Errors
/// `DRIVER_NOT_LOADED` without the emulated driver, `UNKNOWN` when that doesn't understand its settings.
pub(crate) fn initialise() -> Result {
    driver::count().map_err(|status| match status {
        Status::LibraryNotFound => Status::DriverNotLoaded,
        other => other,
    })?;
    let more = |times: u32| times.checked_add(1);
    TIMES.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).map_err(|_| Status::Unknown)?;
    Ok(())
}

/// Shuts down once.
///
/// # Errors
/// `UNINITIALIZED`
pub(crate) fn shut_down() -> Result {
    let fewer = |times: u32| times.checked_sub(1);
    match TIMES.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fewer) {
        Ok(_) => Ok(()),
        Err(_) => Err(Status::Uninitialized),
    }
}

/// Checks that NVML is initialised.
///
/// # Errors
/// `UNINITIALIZED`
pub(crate) fn initialised() -> Result {
    if TIMES.load(Ordering::Relaxed) == 0 { Err(Status::Uninitialized) } else { Ok(()) }
}

/// How many cards there are.
///
/// # Errors
/// `UNINITIALIZED`
pub(crate) fn count() -> Result<c_uint> {
    initialised()?;
    driver::count()
}

/// `nvmlDevice_t`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub(crate) struct Handle(usize);

impl Handle {
    /// That of a card by its number.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` where there are not that many, `UNINITIALIZED`.
    pub(crate) fn of(number: c_uint) -> Result<Self> {
        if number >= count()? {
            return Err(Status::InvalidArgument);
        }
        let place = HANDLES.get(number as usize).ok_or(Status::InvalidArgument)?;
        Ok(Self(std::ptr::from_ref(place) as usize))
    }

    /// The number of the card.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for what is no handle, `UNINITIALIZED`.
    pub(crate) fn number(self) -> Result<c_uint> {
        let count = count()?;
        let number = self.0.wrapping_sub(HANDLES.as_ptr() as usize);
        let number = c_uint::try_from(number).map_err(|_| Status::InvalidArgument)?;
        if number < count { Ok(number) } else { Err(Status::InvalidArgument) }
    }

    /// The card.
    ///
    /// # Errors
    /// As [`number`](Self::number).
    pub(crate) fn card(self) -> Result<Card> {
        driver::card(self.number()?)
    }
}

/// The number of the first card of which this holds.
///
/// # Errors
/// `NOT_FOUND` where it holds of none, `UNINITIALIZED`, and what `holds` fails with.
pub(crate) fn find(holds: impl Fn(&Card) -> Result<bool>) -> Result<c_uint> {
    for number in 0..count()? {
        if holds(&driver::card(number)?)? {
            return Ok(number);
        }
    }
    Err(Status::NotFound)
}
