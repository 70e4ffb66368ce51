//! What the tests share.

use gpu::Gpu;

use crate::device::choice;

/// The device that the tests compute on: what `FOUR_LEVELS_DEVICE` says, else the emulated GPU.
pub(crate) fn gpu() -> Gpu {
    Gpu::open(choice()).unwrap()
}
