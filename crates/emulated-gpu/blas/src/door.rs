//! The door to device memory: work that runs asks here for what it touches.

#![allow(unsafe_code, reason = "asks the driver, in C, and reads device memory that it gave")]

use std::ffi::c_void;

use crate::driver::{AskDoor, OUT_OF_MEMORY};
use crate::words::read_words;
use crate::work::UNKNOWN;
use crate::{Access, Rejection, Status, filled};

/// Memory that the driver does not give: it has said why, and ended the context. The work does
/// nothing more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refused(pub(crate) i32);

impl Refused {
    /// With a code of the driver's, by work that has failed for another reason and has said why.
    #[must_use]
    pub fn with(code: i32) -> Self {
        Self(code)
    }
}

impl From<Rejection> for Refused {
    /// There is no room for what lies between operands and result, which was found out only when the
    /// work ran: it is said, and the driver ends the context.
    fn from(rejection: Rejection) -> Self {
        c_abi::report("emulated library", &rejection.to_string());
        Self(if rejection.status == Status::AllocFailed { OUT_OF_MEMORY } else { UNKNOWN })
    }
}

/// What a piece of work asks for memory, while it runs. It can be neither copied nor kept: work only borrows it.
///
/// ```
/// let run: emulated_blas::Run = Box::new(|door| door.admit(&[]));
/// ```
///
/// ```compile_fail,E0507
/// let run: emulated_blas::Run = Box::new(|door| {
///     let copy: emulated_blas::Door = *door;
///     copy.admit(&[])
/// });
/// ```
///
/// ```compile_fail,E0521
/// fn keep(_: &'static emulated_blas::Door) {}
/// fn work(door: &emulated_blas::Door) {
///     keep(door);
/// }
/// ```
#[derive(Debug)]
pub struct Door {
    ask: AskDoor,
    door: *const c_void,
}

impl Door {
    /// The door of work that runs.
    ///
    /// # Safety
    /// The driver has passed `door` to that work, which ends after this value does; `ask` is its
    /// `emulatedGpuAccess`.
    pub(crate) unsafe fn new(ask: AskDoor, door: *const c_void) -> Self {
        Self { ask, door }
    }

    /// Asks for all of these. They can be accessed, as they say, until the work ends.
    ///
    /// # Errors
    /// When one of them is not all inside one allocation, not aligned, or to be read and never
    /// written where that is checked.
    pub fn admit(&self, accesses: &[Access]) -> Result<(), Refused> {
        if accesses.is_empty() {
            return Ok(());
        }
        // SAFETY: the work runs, as `new` asks, and the list lives for the call.
        match unsafe { (self.ask)(self.door, accesses.as_ptr(), accesses.len()) } {
            0 => Ok(()),
            code => Err(Refused(code)),
        }
    }

    /// Asks for an array of addresses in device memory, and reads each of them once: what a kernel
    /// writes there later changes nothing of what is then asked for.
    ///
    /// # Errors
    /// As [`admit`](Self::admit).
    pub fn addresses(&self, array: u64, count: u64) -> Result<Vec<u64>, Refused> {
        const SIZE: u64 = size_of::<u64>() as u64;
        if count == 0 {
            return Ok(Vec::new());
        }
        self.admit(&[Access::read_bytes(array, count.saturating_mul(SIZE)).aligned_to(SIZE)])?;
        let mut list = filled(0, count as usize)?;
        // SAFETY: the array was admitted, with its alignment.
        unsafe { read_words(array as *const u8, &mut list) };
        Ok(list)
    }
}
