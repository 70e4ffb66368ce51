//! Level 4 as a program: its name, its options, its device.

use std::path::Path;

use clap::Args;
#[cfg(feature = "cust")]
use clap::ValueEnum;
use gpu::DeviceArgs;
use profile::ProfileArgs;
use tensor::{Dtype, Network};
#[cfg(feature = "cust")]
use training::Single;
use training::{Error, Level, Multi, MultiStep, Preset, Result, Runner};

use crate::Level4;
use crate::auto::Auto;
use crate::choice::{self, Choice};

/// Who speaks to the driver.
#[cfg(feature = "cust")]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Host {
    /// cudarc, which opens the driver when it is first called.
    #[default]
    Cudarc,
    /// cust, which is linked against the driver: the loader chooses it.
    Cust,
}

/// The options that only this level has.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Level 4")]
pub struct Options {
    #[command(flatten)]
    device: DeviceArgs,
    /// Which PTX a training step runs: the rung of the ladder.
    #[arg(long, value_name = "RUNG", value_enum, default_value_t)]
    kernels: Choice,
    /// Who speaks to the driver.
    #[cfg(feature = "cust")]
    #[arg(long, value_name = "CRATE", value_enum, default_value_t)]
    host: Host,
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
        #[cfg(feature = "cust")]
        if options.host == Host::Cust {
            return crate::with_cust::device(options.device.device);
        }
        let gpu = options.device.open().map_err(Error::level)?;
        Ok(gpu.device().to_owned())
    }

    fn dtype(options: &Options) -> Dtype {
        options.kernels.dtype()
    }

    fn outputs(options: &Options) -> Vec<(&'static str, &Path)> {
        options.profile.outputs()
    }

    const PLANS: bool = true;

    fn plan(options: &Options, preset: &Preset) -> Result<Vec<String>> {
        let gpu = options.device.open().map_err(Error::level)?;
        choice::plan(&gpu, &preset.network, preset.batch_size)
    }

    fn level(options: &Options, network: &Network) -> Result<Box<dyn Level>> {
        #[cfg(feature = "cust")]
        if options.host == Host::Cust {
            crate::with_cust::device(options.device.device)?;
            if let Some((option, _)) = options.profile.outputs().first() {
                return Err(Error::Usage(format!("--host cust has no {option}: leave out --host")));
            }
            let Choice::One(rung) = options.kernels else {
                return Err(Error::Usage("--host cust has no --kernels auto: name a rung".into()));
            };
            return Ok(Box::new(crate::with_cust::WithCust::new(network, rung)?));
        }
        options.level(network).map(|level| level as Box<dyn Level>)
    }

    fn on_each(
        options: &Options,
        network: &Network,
        work: &(dyn Fn(&mut dyn Runner) -> Result<()> + Sync),
    ) -> Result<()> {
        #[cfg(feature = "cust")]
        if options.host == Host::Cust {
            return work(&mut Single(Self::level(options, network)?.as_mut()));
        }
        work(&mut Multi(options.level(network)?.as_mut()))
    }
}

impl Options {
    /// The level on cudarc, which may take several steps in one launch.
    fn level(&self, network: &Network) -> Result<Box<dyn MultiStep>> {
        let gpu = self.device.open().map_err(Error::level)?;
        let profile = self.profile.open(&gpu).map_err(Error::level)?;
        Ok(match self.kernels {
            Choice::One(rung) => Box::new(Level4::new(&gpu, network, rung, profile)?),
            Choice::Auto => Box::new(Auto::new(gpu, network, profile)),
        })
    }
}
