//! The option `--device` of all levels on a GPU.

use clap::Args;

use crate::{Choice, Gpu, Result};

/// Which GPU to compute on.
#[derive(Args, Clone, Copy, Debug, Default)]
pub struct DeviceArgs {
    /// auto: use an NVIDIA GPU if one works, otherwise the emulator; cuda: require an NVIDIA GPU;
    /// emulated: run on the CPU.
    #[arg(
        long,
        value_name = "DEVICE",
        value_enum,
        default_value_t,
        env = "FOUR_LEVELS_DEVICE",
        hide_possible_values = true,
        help_heading = "Device"
    )]
    pub device: Choice,
}

impl DeviceArgs {
    /// Opens that GPU. If `auto` falls back to the emulator, the first call prints the reason to standard error.
    ///
    /// # Errors
    /// As [`Gpu::open`].
    pub fn open(self) -> Result<Gpu> {
        self.open_one(0, 1)
    }

    /// Opens one of several GPUs, as [`open`](Self::open).
    ///
    /// # Errors
    /// As [`Gpu::open_one`].
    pub fn open_one(self, ordinal: usize, count: usize) -> Result<Gpu> {
        static FALLBACK_NOTE: std::sync::Once = std::sync::Once::new();
        let gpu = Gpu::open_one(self.device, ordinal, count)?;
        if let Some(why) = gpu.why_not_real() {
            FALLBACK_NOTE.call_once(|| {
                host::complain(format_args!("note: {why}; computing on the emulated GPU"));
            });
        }
        Ok(gpu)
    }
}
