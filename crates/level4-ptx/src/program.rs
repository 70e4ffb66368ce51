//! Level 4 as a program: its name, its options, its device.

use std::path::Path;

use clap::Args;
use gpu::DeviceArgs;
use profile::ProfileArgs;
use tensor::{Dtype, Network};
use training::{Level, Multi, Preset, Result, Runner};

use crate::{Level4, Rung, auto};

/// A rung, or `None` for `auto`. The alias keeps clap from treating `Option` as an optional
/// argument.
type RungOrAuto = Option<Rung>;

/// The options that only this level has.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Level 4")]
pub struct Options {
    #[command(flatten)]
    device: DeviceArgs,
    /// Which PTX a training step runs: the rung of the ladder.
    #[arg(long, value_name = "RUNG", value_parser = auto::parser(),
          default_value = Rung::default().row().name)]
    kernels: RungOrAuto,
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

    /// `auto` only chooses rungs in single precision.
    fn dtype(options: &Options) -> Dtype {
        options.kernels.map_or(Dtype::F32, |rung| rung.row().dtype)
    }

    fn outputs(options: &Options) -> Vec<(&'static str, &Path)> {
        options.profile.outputs()
    }

    const HAS_PLAN_COMMAND: bool = true;

    fn plan(options: &Options, preset: &Preset) -> Result<Vec<String>> {
        auto::plan(&options.device.open()?, &preset.network, preset.batch_size)
    }

    fn level(options: &Options, network: &Network) -> Result<Box<dyn Level>> {
        Ok(Box::new(level(options, network)?))
    }

    fn on_each(
        options: &Options,
        network: &Network,
        work: &(dyn Fn(&mut dyn Runner) -> Result<()> + Sync),
    ) -> Result<()> {
        work(&mut Multi(&mut level(options, network)?))
    }
}

fn level(options: &Options, network: &Network) -> Result<Level4> {
    let gpu = options.device.open()?;
    let profile = options.profile.open(&gpu)?;
    // With `auto`, the first batch decides.
    let (rung, is_undecided) = options.kernels.map_or((Rung::Tiled, true), |rung| (rung, false));
    Ok(Level4 { is_undecided, ..Level4::new(&gpu, network, rung, profile)? })
}
