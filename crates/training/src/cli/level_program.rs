//! A level's program together with its options, without the type parameter of [`Program`]. So the commands are
//! compiled once, in this crate, and not again for each level.

use std::path::{Path, PathBuf};

use tensor::{Dtype, Network};

use super::Program;
use crate::{Level, Preset, Result, Runner};

/// The functions of a [`Program`], called with the options of the command line.
pub(super) trait LevelProgram: Sync {
    fn name(&self) -> &'static str;
    fn device(&self) -> Result<String>;
    fn dtype(&self) -> Dtype;
    fn outputs(&self) -> Vec<(&'static str, &Path)>;
    fn plan(&self, preset: &Preset) -> Result<Vec<String>>;
    fn level(&self, network: &Network) -> Result<Box<dyn Level>>;
    fn leads(&self) -> Result<bool>;
    fn files(&self, path: &Path) -> Vec<PathBuf>;
    fn sgemm_gflops(&self) -> Result<Option<f64>>;
    fn on_each(
        &self,
        network: &Network,
        work: &(dyn Fn(&mut dyn Runner) -> Result<()> + Sync),
    ) -> Result<()>;
}

/// A program with its options.
pub(super) struct WithOptions<P: Program>(pub(super) P::Options);

impl<P: Program> LevelProgram for WithOptions<P> {
    fn name(&self) -> &'static str {
        P::NAME
    }

    fn device(&self) -> Result<String> {
        P::device(&self.0)
    }

    fn dtype(&self) -> Dtype {
        P::dtype(&self.0)
    }

    fn outputs(&self) -> Vec<(&'static str, &Path)> {
        P::outputs(&self.0)
    }

    fn plan(&self, preset: &Preset) -> Result<Vec<String>> {
        P::plan(&self.0, preset)
    }

    fn level(&self, network: &Network) -> Result<Box<dyn Level>> {
        P::level(&self.0, network)
    }

    fn leads(&self) -> Result<bool> {
        P::leads(&self.0)
    }

    fn files(&self, path: &Path) -> Vec<PathBuf> {
        P::files(&self.0, path)
    }

    fn sgemm_gflops(&self) -> Result<Option<f64>> {
        P::sgemm_gflops(&self.0)
    }

    fn on_each(
        &self,
        network: &Network,
        work: &(dyn Fn(&mut dyn Runner) -> Result<()> + Sync),
    ) -> Result<()> {
        P::on_each(&self.0, network, work)
    }
}
