//! Initialisation state of NVML, and card handles.

use std::ffi::c_uint;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::card::Card;
use crate::driver;
use crate::ffi::{Result, Status};

/// The number of initialisations minus shutdowns. It is atomic instead of locked, because a process may fork at any
/// time.
static INITIALISATIONS: AtomicU32 = AtomicU32::new(0);

/// The maximum number of emulated cards.
const MAX_CARDS: usize = 64;
/// The bytes whose addresses are the handles of cards. They are never read.
static HANDLES: [u8; MAX_CARDS] = [0; MAX_CARDS];

/// Counts an initialisation.
///
/// # Errors
/// `DRIVER_NOT_LOADED` without the emulated driver, `UNKNOWN` if the driver rejects its settings.
pub(crate) fn initialise() -> Result {
    driver::count().map_err(|status| match status {
        Status::LibraryNotFound => Status::DriverNotLoaded,
        other => other,
    })?;
    let more = |times: u32| times.checked_add(1);
    INITIALISATIONS
        .fetch_update(Ordering::Relaxed, Ordering::Relaxed, more)
        .map_err(|_| Status::Unknown)?;
    Ok(())
}

/// Counts a shutdown.
///
/// # Errors
/// `UNINITIALIZED` if NVML is not initialised.
pub(crate) fn shut_down() -> Result {
    let fewer = |times: u32| times.checked_sub(1);
    match INITIALISATIONS.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fewer) {
        Ok(_) => Ok(()),
        Err(_) => Err(Status::Uninitialized),
    }
}

/// Checks that NVML is initialised.
///
/// # Errors
/// `UNINITIALIZED` if NVML is not initialised.
pub(crate) fn initialised() -> Result {
    if INITIALISATIONS.load(Ordering::Relaxed) == 0 { Err(Status::Uninitialized) } else { Ok(()) }
}

/// The number of cards.
///
/// # Errors
/// `UNINITIALIZED` if NVML is not initialised.
pub(crate) fn count() -> Result<c_uint> {
    initialised()?;
    driver::count()
}

/// `nvmlDevice_t`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub(crate) struct Handle(usize);

impl Handle {
    /// The handle of the card with this index.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` if there is no such card, `UNINITIALIZED` before initialisation.
    pub(crate) fn from_index(number: c_uint) -> Result<Self> {
        if number >= count()? {
            return Err(Status::InvalidArgument);
        }
        let place = HANDLES.get(number as usize).ok_or(Status::InvalidArgument)?;
        Ok(Self(std::ptr::from_ref(place) as usize))
    }

    /// The index of the card.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for an invalid handle, `UNINITIALIZED` before initialisation.
    pub(crate) fn number(self) -> Result<c_uint> {
        let count = count()?;
        let number = self.0.wrapping_sub(HANDLES.as_ptr() as usize);
        let number = c_uint::try_from(number).map_err(|_| Status::InvalidArgument)?;
        if number < count { Ok(number) } else { Err(Status::InvalidArgument) }
    }

    /// The card with this handle.
    ///
    /// # Errors
    /// See [`number`](Self::number).
    pub(crate) fn card(self) -> Result<Card> {
        driver::card(self.number()?)
    }
}

/// The index of the first card that satisfies a condition.
///
/// # Errors
/// `NOT_FOUND` if no card does, `UNINITIALIZED` before initialisation, and errors of `holds`.
pub(crate) fn find(holds: impl Fn(&Card) -> Result<bool>) -> Result<c_uint> {
    for number in 0..count()? {
        if holds(&driver::card(number)?)? {
            return Ok(number);
        }
    }
    Err(Status::NotFound)
}
