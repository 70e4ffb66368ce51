//! Properties of a card for libraries that only list cards (`emulatedGpuGetCard`). They make no driver, so a
//! process that is forked off afterwards can still use the card. `include/emulated_gpu.h` declares the functions.

use crate::abi::Out;
use crate::abi::error::{Code, Result};
use crate::abi::ffi::export;
use crate::api::driver::{driver, settings};
use crate::device;

/// `EmulatedGpuCard`
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Card {
    /// Ends in NUL.
    name: [u8; 64],
    uuid: [u8; 16],
    /// The domain of PCI, the bus, and the number there.
    place: [i32; 3],
    /// Of the compute capability, major and minor.
    capability: [u32; 2],
    /// How many contexts this process has on it.
    contexts: u32,
    /// Bytes of memory.
    memory: u64,
    /// Bytes of it that this process uses.
    used: u64,
}

/// How many there are.
///
/// # Errors
/// When the environment says something that can't be.
fn card_count() -> Result<u32> {
    Ok(settings()?.devices)
}

/// A card by its number.
///
/// # Errors
/// `INVALID_DEVICE`; when the environment says something that can't be.
fn card(number: u32) -> Result<Card> {
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

export! {
    /// `CUresult emulatedGpuGetCardCount(unsigned int *count)`: how many cards there are; also before
    /// `cuInit`.
    0 fn emulatedGpuGetCardCount(count: Out<u32>) early {
        count.required()?;
        count.set(card_count()?)
    }

    /// `CUresult emulatedGpuGetCard(unsigned int number, EmulatedGpuCard *card, size_t size)`: one of
    /// them. `size` is that of the caller's structure, which may be older and shorter.
    0 fn emulatedGpuGetCard(number: u32, out: Out<u8>, size: usize) early {
        out.required()?;
        let card = card(number)?;
        // SAFETY: it is the structure's own bytes, of which none is a gap between fields.
        let bytes: [u8; size_of::<Card>()] = unsafe { std::mem::transmute(card) };
        out.set_all(bytes.into_iter().take(size));
        Ok(())
    }
}
