//! What is said of a card to those who only look at it. That makes no driver: a process that was forked off
//! afterwards can still use the card.

use crate::device;
use crate::driver::{driver, settings};
use crate::error::{Code, Result};

/// `EmulatedGpuCard`
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Card {
    /// Ends in NUL.
    pub(crate) name: [u8; 64],
    pub(crate) uuid: [u8; 16],
    /// The domain of PCI, the bus, and the number there.
    pub(crate) place: [i32; 3],
    /// Of the compute capability, major and minor.
    pub(crate) capability: [u32; 2],
    /// How many contexts this process has on it.
    pub(crate) contexts: u32,
    /// Bytes of memory.
    pub(crate) memory: u64,
    /// Bytes of it that this process uses.
    pub(crate) used: u64,
}

/// How many there are.
///
/// # Errors
/// When the environment says something that can't be.
pub(crate) fn count() -> Result<u32> {
    Ok(settings()?.devices)
}

/// A card by its number.
///
/// # Errors
/// `INVALID_DEVICE`; when the environment says something that can't be.
pub(crate) fn card(number: u32) -> Result<Card> {
    let settings = settings()?;
    if number >= settings.devices {
        return Err(Code::INVALID_DEVICE
            .because(format!("there are {} cards, counted from 0", settings.devices)));
    }
    let mut name = [0; 64];
    let last = name.len() - 1;
    name[..last].iter_mut().zip(device::name().bytes()).for_each(|(to, from)| *to = from);
    let mut card = Card {
        name,
        uuid: device::uuid(number as i32),
        place: device::place(number as i32),
        capability: [settings.capability / 10, settings.capability % 10],
        contexts: 0,
        memory: settings.memory_of_each(),
        used: 0,
    };
    // Without it, and in a process that was forked off since it was made, nothing is used.
    if let Ok(driver) = driver() {
        let contexts = driver.contexts.all();
        card.contexts = contexts.iter().filter(|one| one.device == number).count() as u32;
        card.used = card.memory.saturating_sub(driver.hardware.allocations.free_bytes(number));
    }
    Ok(card)
}
