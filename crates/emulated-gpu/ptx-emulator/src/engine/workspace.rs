//! Where the blocks of a cooperative grid count each other: its size, and a counter. The driver gives it to a
//! launch, and the code of cooperative groups, which is a part of the kernel, finds it in `%envreg1` and 2.

use super::image::Image;
use crate::memory::{Home, Memory, OutOfMemory};
use crate::program::Special;

/// A launch's own.
pub(super) struct Workspace<'launch> {
    memory: &'launch Memory,
    address: u64,
}

impl<'launch> Workspace<'launch> {
    const BYTES: u32 = 8;

    /// That of a launch on a device, where the kernel asks for it.
    ///
    /// # Errors
    /// When there is no memory for it.
    pub(super) fn of(
        image: &Image,
        memory: &'launch Memory,
        device: u32,
    ) -> Result<Option<Self>, OutOfMemory> {
        let asks = |special: &Special| matches!(special, Special::Workspace { .. });
        if !image.specials.iter().any(|(_, special)| asks(special)) {
            return Ok(None);
        }
        let size = u64::from(Self::BYTES);
        let home = Home { device, ..Home::default() };
        let workspace = Self { memory, address: memory.allocate_at(home, size, 256)? };
        let begin = [Self::BYTES.to_le_bytes(), [0; 4]].concat();
        match memory.write(workspace.address, &begin) {
            Ok(()) => Ok(Some(workspace)),
            Err(_) => Err(OutOfMemory { size }),
        }
    }

    pub(super) fn address(&self) -> u64 {
        self.address
    }
}

impl Drop for Workspace<'_> {
    fn drop(&mut self) {
        // It was allocated here, and nobody else frees it.
        let _ = self.memory.free(self.address);
    }
}
