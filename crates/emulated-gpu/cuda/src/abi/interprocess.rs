//! Interprocess handles, by which another process opens memory or an event (`cuIpc…`).

use ptx_emulator::memory::SharedMemory;

use crate::abi::error::{Code, Error, Result};

/// The structure of `CUipcMemHandle` and `CUipcEventHandle`: 64 bytes with a meaning that only the driver knows.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct InterprocessHandle([u8; 64]);

/// The kind of object that a handle denotes, which is stored in the handle's first eight bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HandleKind {
    Memory,
    Event,
}

impl HandleKind {
    fn magic(self) -> u64 {
        u64::from_ne_bytes(match self {
            Self::Memory => *b"emuGPU M",
            Self::Event => *b"emuGPU E",
        })
    }
}

/// A checksum (FNV-1a, 64 bits) that detects a handle changed by mistake. It needs no protection against forgery,
/// because a process that may open a part of another process's memory may open all of it.
fn checksum(words: &[u64]) -> u64 {
    let bytes = words.iter().flat_map(|word| word.to_ne_bytes());
    bytes.fold(0xcbf2_9ce4_8422_2325, |sum, byte| {
        (sum ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
    })
}

impl InterprocessHandle {
    /// Makes a handle for memory or an event at `place`, on a device.
    pub(crate) fn new(kind: HandleKind, place: SharedMemory, device: u32) -> Self {
        let SharedMemory { process, descriptor, inode, offset, size } = place;
        let owner = u64::from(process) | u64::from(descriptor.cast_unsigned()) << 32;
        let mut bytes = [0; 64];
        let words = [kind.magic(), owner, inode, offset, size, device.into()];
        let words = words.into_iter().chain([checksum(&words)]);
        for (chunk, word) in bytes.chunks_exact_mut(8).zip(words) {
            chunk.copy_from_slice(&word.to_ne_bytes());
        }
        Self(bytes)
    }

    /// The place and the device that the handle was made for.
    ///
    /// # Errors
    /// `INVALID_VALUE` if the handle was not created by this driver, is of another kind, or was changed: with a changed
    /// offset, it would refer to another allocation.
    pub(crate) fn read(&self, kind: HandleKind) -> Result<(SharedMemory, u32)> {
        let wrong = || -> Error {
            Code::INVALID_VALUE.because(
                "these 64 bytes are not a handle of this kind that an emulated driver made",
            )
        };
        let mut words = [0; 8];
        for (word, chunk) in words.iter_mut().zip(self.0.chunks_exact(8)) {
            *word = u64::from_ne_bytes(chunk.try_into().unwrap_or_default());
        }
        let [magic, owner, inode, offset, size, device, ..] = words;
        if magic != kind.magic() {
            return Err(wrong());
        }
        let device = u32::try_from(device).map_err(|_| wrong())?;
        let (process, descriptor) = (owner as u32, ((owner >> 32) as u32).cast_signed());
        let place = SharedMemory { process, descriptor, inode, offset, size };
        if Self::new(kind, place, device).0 != self.0 {
            return Err(wrong());
        }
        Ok((place, device))
    }
}
