//! The options for profiles.

use std::path::{Path, PathBuf};

use clap::{Args, ValueHint};
use gpu::Gpu;

use crate::{Card, Profile, Result};

/// The options `--profile`, `--roofline` and `--card`.
#[derive(Args, Clone, Debug, Default)]
pub struct ProfileArgs {
    /// Print a profile at the end (times on a real GPU, counts on the emulated one), and write a trace
    /// for Perfetto or Chrome to this file. The occupancy is computed from the registers that the PTX
    /// declares (64 at most), not from those that ptxas would allocate.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub profile: Option<PathBuf>,
    /// Draw the kernels in a card's roofline as SVG, computed from the emulated GPU's counts.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub roofline: Option<PathBuf>,
    /// The card of --roofline.
    #[arg(long, value_name = "CARD", value_enum, default_value_t)]
    pub card: Card,
}

impl ProfileArgs {
    /// The files to write, and the options that name them.
    #[must_use]
    pub fn outputs(&self) -> Vec<(&'static str, &Path)> {
        let files = [("--profile", &self.profile), ("--roofline", &self.roofline)];
        files.into_iter().filter_map(|(name, file)| Some((name, file.as_deref()?))).collect()
    }

    /// Starts to record if one of the options is used.
    ///
    /// # Errors
    /// [`ProfileError::Write`](crate::ProfileError::Write) if a file can't be written;
    /// [`ProfileError::NoCounts`](crate::ProfileError::NoCounts) if a roofline is requested on a real GPU.
    pub fn open(&self, gpu: &Gpu) -> Result<Profile> {
        let roofline = self.roofline.as_deref().map(|path| (path, self.card));
        Profile::with_roofline(gpu, self.profile.as_deref(), roofline)
    }
}
