//! Level 2 as a program: its name, its options, its device.

use std::path::Path;

use clap::{Args, ValueEnum};
use gpu::transfer::Strategy;
use gpu::{CompilerArgs, DeviceArgs};
use own_kernels::OwnArgs;
use profile::ProfileArgs;
use tensor::{Dtype, Network};
use training::{Error, Level, Result};

use crate::{Level2, PerSample, Products};

/// How work is split into kernels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Kernels {
    /// A kernel for each operation, and a thread for each element of its result.
    #[default]
    PerOperation,
    /// A thread for each sample, which computes the forward and the backward pass of that sample.
    PerSample,
}

/// The options that only this level has.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Level 2")]
pub struct Options {
    #[command(flatten)]
    device: DeviceArgs,
    #[command(flatten)]
    compiler: CompilerArgs,
    /// How work is split into kernels.
    #[arg(long, value_name = "HOW", value_enum, default_value_t)]
    kernels: Kernels,
    /// Kernels of the three matrix products (the ladder).
    #[arg(long, value_name = "HOW", value_enum, default_value_t)]
    products: Products,
    /// How batches get to the device.
    #[arg(long, value_name = "HOW", value_enum, default_value_t)]
    transfer: Strategy,
    #[command(flatten)]
    own: OwnArgs,
    #[command(flatten)]
    profile: ProfileArgs,
}

/// The program `level2-cuda-naive`.
#[derive(Clone, Copy, Debug)]
pub struct Program;

impl training::Program for Program {
    const NAME: &'static str = "level2-cuda-naive";
    const ABOUT: &'static str =
        "Level 2 of four: a multilayer perceptron in CUDA, one kernel per operation, with cudarc";
    type Options = Options;

    fn device(options: &Options) -> Result<String> {
        Ok(options.device.open()?.device().to_owned())
    }

    fn dtype(options: &Options) -> Dtype {
        options.products.dtype()
    }

    fn outputs(options: &Options) -> Vec<(&'static str, &Path)> {
        options.profile.outputs()
    }

    fn level(options: &Options, network: &Network) -> Result<Box<dyn Level>> {
        let gpu = options.device.open()?.compiling_by(options.compiler.compiler);
        let profile = options.profile.open(&gpu)?;
        let Options { transfer, products, .. } = *options;
        Ok(match options.kernels {
            Kernels::PerOperation => {
                products.check_card(&gpu)?;
                let compiler = options.compiler.compiler;
                let own = options.own.load(&gpu, compiler, network.loss, &profile.profiler)?;
                let level = Level2::new(&gpu, network, products, transfer, profile)?;
                Box::new(level.with_own_kernels(own))
            }
            Kernels::PerSample if products != Products::Naive => {
                return Err(Error::Usage(format!(
                    "--products {products} needs --kernels per-operation: the kernels of per-sample have \
                     no separate matrix products; leave out --kernels per-sample"
                )));
            }
            Kernels::PerSample => Box::new(PerSample::new(&gpu, network, transfer, profile)?),
        })
    }
}
