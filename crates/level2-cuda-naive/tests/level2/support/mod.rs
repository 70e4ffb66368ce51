//! What the tests share.

use gpu::{Choice, Gpu};

/// The device that the tests compute on: what `FOUR_LEVELS_DEVICE` says, else the emulated GPU.
pub(crate) fn gpu() -> Gpu {
    let choice = match std::env::var("FOUR_LEVELS_DEVICE").as_deref() {
        Ok("cuda") => Choice::Cuda,
        Ok("auto") => Choice::Auto,
        _ => Choice::Emulated,
    };
    Gpu::open(choice).unwrap()
}
