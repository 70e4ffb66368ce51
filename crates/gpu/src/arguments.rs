//! The options of `--device`, which every level on a GPU has, and those that write down what kernels do.

use std::path::{Path, PathBuf};

use clap::{Args, ValueHint};

use crate::{Card, Choice, Gpu, Profile, Result};

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

/// What is written down of the kernels.
#[derive(Args, Clone, Debug, Default)]
pub struct ProfileArgs {
    /// Say at the end where the time went, or on the emulated GPU what was counted, and write a trace
    /// for Perfetto or Chrome to this file. Occupancy is by the registers that the PTX declares, 64 at
    /// most, and not by those that ptxas would take.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub profile: Option<PathBuf>,
    /// Draw as SVG how fast each kernel could be at most on a card, by what the emulated GPU counted.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub roofline: Option<PathBuf>,
    /// The card of --roofline.
    #[arg(long, value_name = "CARD", value_enum, default_value_t)]
    pub card: Card,
}

impl ProfileArgs {
    /// The files that are written, and the options that name them.
    #[must_use]
    pub fn outputs(&self) -> Vec<(&'static str, &Path)> {
        let files = [("--profile", &self.profile), ("--roofline", &self.roofline)];
        files.into_iter().filter_map(|(name, file)| Some((name, file.as_deref()?))).collect()
    }

    /// Begins to write down, where that was asked for.
    ///
    /// # Errors
    /// When a file can't be written, and when a roofline is asked of a real GPU.
    pub fn open(&self, gpu: &Gpu) -> Result<Profile> {
        let roofline = self.roofline.as_deref().map(|path| (path, self.card));
        Profile::with_roofline(gpu, self.profile.as_deref(), roofline)
    }
}
