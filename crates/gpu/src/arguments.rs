//! The option `--device`, which every level on a GPU has.

use clap::Args;

use crate::{Choice, Gpu, Result};

/// Which GPU to compute on.
#[derive(Args, Clone, Copy, Debug, Default)]
pub struct DeviceArgs {
    /// auto: the NVIDIA GPU where there is one that can be used, else the emulated one; cuda: the
    /// NVIDIA GPU or an error; emulated: this machine's processor.
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
    /// Opens that GPU, and says on standard error, once, when it is not the real one although any
    /// was welcome.
    ///
    /// # Errors
    /// As [`Gpu::open`].
    pub fn open(self) -> Result<Gpu> {
        self.open_one(0, 1)
    }

    /// Opens one of several GPUs, and says the same.
    ///
    /// # Errors
    /// As [`Gpu::open_one`].
    pub fn open_one(self, ordinal: usize, count: usize) -> Result<Gpu> {
        static SAID: std::sync::Once = std::sync::Once::new();
        let gpu = Gpu::open_one(self.device, ordinal, count)?;
        if let Some(why) = gpu.why_not_real() {
            SAID.call_once(|| {
                host::complain(format_args!("note: {why}; computing on the emulated GPU"));
            });
        }
        Ok(gpu)
    }
}
