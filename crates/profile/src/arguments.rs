//! The options that record what kernels do.

use std::path::{Path, PathBuf};

use clap::{Args, ValueHint};
use gpu::Gpu;

use crate::{Card, Profile, Result};

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
