//! The door to device memory: work that runs asks here for what it touches.

#![allow(unsafe_code, reason = "asks the driver, in C, and reads device memory that it gave")]

use std::ffi::c_void;

use crate::driver::{AskDoor, OUT_OF_MEMORY};
use crate::report::tell;
use crate::work::UNKNOWN;
use crate::{Access, Rejection, Status, room};

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
        tell(&format!("emulated library: {rejection}"));
        Self(if rejection.status == Status::AllocFailed { OUT_OF_MEMORY } else { UNKNOWN })
    }
}

/// What a piece of work asks for memory, while it runs.
#[derive(Clone, Copy, Debug)]
pub struct Door {
    pub(crate) ask: AskDoor,
    pub(crate) door: *const c_void,
}

impl Door {
    /// Asks for all of these. They can be accessed, as they say, until the work ends.
    ///
    /// # Errors
    /// When one of them is not all inside one allocation, not aligned, or to be read and never
    /// written where that is checked.
    pub fn admit(&self, accesses: &[Access]) -> Result<(), Refused> {
        if accesses.is_empty() {
            return Ok(());
        }
        // SAFETY: the door is the one that the driver has passed to the work that runs, and the list
        // lives for the call.
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
        let mut list = room(count as usize)?;
        let at = |index| array + index * SIZE;
        // SAFETY: the array was admitted, with its alignment. Kernels of other streams may write to
        // it meanwhile.
        list.extend((0..count).map(|index| unsafe { (at(index) as *const u64).read_volatile() }));
        Ok(list)
    }
}
