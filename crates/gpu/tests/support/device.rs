//! The device that tests compute on.

/// What `FOUR_LEVELS_DEVICE` says, else the emulated GPU.
pub(crate) fn choice() -> gpu::Choice {
    match std::env::var("FOUR_LEVELS_DEVICE").as_deref() {
        Ok("cuda") => gpu::Choice::Cuda,
        Ok("auto") => gpu::Choice::Auto,
        _ => gpu::Choice::Emulated,
    }
}
