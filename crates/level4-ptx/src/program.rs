//! Level 4 as a program: its name, its options, its device.

use std::path::{Path, PathBuf};

#[cfg(feature = "cust")]
use clap::ValueEnum;
use clap::{Args, ValueHint};
use gpu::{DeviceArgs, Profile};
use tensor::{Dtype, Network};
use training::{Error, Level, Result};

use crate::{Level4, Rung};

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
    kernels: Rung,
    /// Who speaks to the driver.
    #[cfg(feature = "cust")]
    #[arg(long, value_name = "CRATE", value_enum, default_value_t)]
    host: Host,
    /// Say at the end where the time went, and write a trace for Perfetto or Chrome to this file.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    profile: Option<PathBuf>,
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
        options.profile.iter().map(|path| ("--profile", path.as_path())).collect()
    }

    fn level(options: &Options, network: &Network) -> Result<Box<dyn Level>> {
        #[cfg(feature = "cust")]
        if options.host == Host::Cust {
            crate::with_cust::device(options.device.device)?;
            return Ok(Box::new(crate::with_cust::WithCust::new(network, options.kernels)?));
        }
        let gpu = options.device.open().map_err(Error::level)?;
        let profile = Profile::new(&gpu, options.profile.as_deref()).map_err(Error::level)?;
        Ok(Box::new(Level4::new(&gpu, network, options.kernels, profile)?))
    }
}
