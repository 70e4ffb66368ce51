//! The workspace of a cooperative grid, in which its blocks count arrivals at grid barriers. The
//! driver passes it to the launch in `%envreg1` and `%envreg2`; the kernel contains the code of
//! cooperative groups that uses it.

use super::core::{Core, Problem};
use super::image::Image;
use crate::fault::FaultKind;
use crate::memory::{Home, Memory, OutOfMemory};
use crate::program::Special;

/// The workspace of one launch.
pub(super) struct Workspace<'launch> {
    memory: &'launch Memory,
    address: u64,
}

impl<'launch> Workspace<'launch> {
    const BYTES: u32 = 8;

    /// Allocates the workspace of a launch on a device, if the kernel uses it.
    ///
    /// # Errors
    /// If the device is out of memory.
    pub(super) fn allocate(
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

/// The fault of a `trap`. Cooperative groups execute it in `grid.sync()` if the launch has no
/// workspace.
pub(super) fn trap(core: &Core<'_>) -> Box<Problem> {
    let low = Special::Workspace { high: false };
    let workspace_slot = core.image.specials.iter().find(|(_, special)| *special == low);
    let problem = Problem::new(FaultKind::Trap, "the kernel executed trap");
    if workspace_slot.is_some_and(|(slot, _)| core.registers.get(*slot, 0) == 0) {
        return problem.note(
            "the launch is not cooperative, so `grid.sync()` traps: launch the kernel with \
             cuLaunchCooperativeKernel, or run it with `--cooperative`",
        );
    }
    problem
}

impl Drop for Workspace<'_> {
    fn drop(&mut self) {
        // The workspace was allocated by `new`, and is only freed here.
        let _ = self.memory.free(self.address);
    }
}
