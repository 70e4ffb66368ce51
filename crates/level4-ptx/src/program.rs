//! Level 4 as a program: its name, its options, its device.

use std::path::Path;

use clap::Args;
use gpu::DeviceArgs;
use profile::ProfileArgs;
use tensor::{Dtype, Network};
use training::{Level, Multi, MultiStep, Preset, Result, Runner};

use crate::Level4;
use crate::auto::Auto;
use crate::choice::{self, Choice};

/// The options that only this level has.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Level 4")]
pub struct Options {
    #[command(flatten)]
    device: DeviceArgs,
    /// Which PTX a training step runs: the rung of the ladder.
    #[arg(long, value_name = "RUNG", value_enum, default_value_t)]
    kernels: Choice,
    #[command(flatten)]
    profile: ProfileArgs,
}

/// The program `level4-ptx`.
#[derive(Clone, Copy, Debug)]
pub struct Program;

impl training::Program for Program {
    const NAME: &'static str = "level4-ptx";
    const ABOUT: &'static str =
        "Level 4 of four: a multilayer perceptron in PTX written by hand, with cudarc";
    type Options = Options;

    fn device(options: &Options) -> Result<String> {
        Ok(options.device.open()?.device().to_owned())
    }

    fn dtype(options: &Options) -> Dtype {
        options.kernels.dtype()
    }

    fn outputs(options: &Options) -> Vec<(&'static str, &Path)> {
        options.profile.outputs()
    }

    const PLANS: bool = true;

    fn plan(options: &Options, preset: &Preset) -> Result<Vec<String>> {
        choice::plan(&options.device.open()?, &preset.network, preset.batch_size)
    }

    fn level(options: &Options, network: &Network) -> Result<Box<dyn Level>> {
        options.level(network).map(|level| level as Box<dyn Level>)
    }

    fn on_each(
        options: &Options,
        network: &Network,
        work: &(dyn Fn(&mut dyn Runner) -> Result<()> + Sync),
    ) -> Result<()> {
        work(&mut Multi(options.level(network)?.as_mut()))
    }
}

impl Options {
    /// The level; some rungs take several steps in one launch.
    fn level(&self, network: &Network) -> Result<Box<dyn MultiStep>> {
        let gpu = self.device.open()?;
        let profile = self.profile.open(&gpu)?;
        Ok(match self.kernels {
            Choice::One(rung) => Box::new(Level4::new(&gpu, network, rung, profile)?),
            Choice::Auto => Box::new(Auto::new(gpu, network, profile)),
        })
    }
}
