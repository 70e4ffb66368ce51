//! Properties of a card for libraries that only list cards (`emulatedGpuGetCard`). These functions don't create the
//! driver, so a child process that is forked afterwards can still use the card. `include/emulated_gpu.h` declares
//! them.

use crate::abi::Out;
use crate::abi::error::{Code, Result};
use crate::abi::ffi::export;
use crate::api::driver::{driver, settings};
use crate::device;

/// `EmulatedGpuCard`
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Card {
    /// The NUL-terminated name.
    name: [u8; 64],
    uuid: [u8; 16],
    /// The PCI address: domain, bus and device number.
    pci_address: [i32; 3],
    /// The compute capability: major and minor.
    capability: [u32; 2],
    /// The number of contexts that this process has on the card.
    contexts: u32,
    /// Bytes of memory.
    memory: u64,
    /// Bytes that this process uses.
    used: u64,
}

/// The properties of a card.
///
/// # Errors
/// `INVALID_DEVICE` if there is no such card; `INVALID_VALUE` if an environment variable has an invalid value.
fn card(number: u32) -> Result<Card> {
    let settings = settings()?;
    if number >= settings.devices {
        return Err(Code::INVALID_DEVICE.because(format!(
            "there are {} cards, counted from 0, and no number {number}",
            settings.devices
        )));
    }
    let mut name = [0; 64];
    let last = name.len() - 1;
    name[..last].iter_mut().zip(device::name().bytes()).for_each(|(to, from)| *to = from);
    let mut card = Card {
        name,
        uuid: device::uuid(number as i32),
        pci_address: device::pci_address(number as i32),
        capability: [settings.capability / 10, settings.capability % 10],
        contexts: 0,
        memory: settings.memory_of_each(),
        used: 0,
    };
    // No memory is in use if this process has no driver, or was forked after the driver was
    // created.
    if let Ok(driver) = driver() {
        let contexts = driver.contexts.all();
        card.contexts = contexts.iter().filter(|context| context.device == number).count() as u32;
        card.used = card.memory.saturating_sub(driver.hardware.allocations.free_bytes(number));
    }
    Ok(card)
}

export! {
    /// `CUresult emulatedGpuGetCardCount(unsigned int *count)`: the number of cards. It may be called before
    /// `cuInit`.
    0 fn emulatedGpuGetCardCount(count: Out<u32>) early {
        count.required()?;
        count.set(settings()?.devices)
    }

    /// `CUresult emulatedGpuGetCard(unsigned int number, EmulatedGpuCard *card, size_t size)`: the properties of a
    /// card. `size` is the size of the caller's structure, which may be an older, shorter version.
    0 fn emulatedGpuGetCard(number: u32, out: Out<u8>, size: usize) early {
        out.required()?;
        let card = card(number)?;
        // SAFETY: all bytes are initialised, because the structure has no padding.
        let bytes: [u8; size_of::<Card>()] = unsafe { std::mem::transmute(card) };
        out.set_all(bytes.into_iter().take(size));
        Ok(())
    }
}
