//! Level 3 as a program: its name, its options, its device.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum, ValueHint};
use data_parallel::{ParallelArgs, Rank};
use gpu::transfer::Strategy;
use gpu::{CompilerArgs, DeviceArgs, Gpu};
use profile::Profile;
use tensor::{Dtype, Network};
use training::{Error, Level, Preset, Result, Runner};

use crate::Level3;

/// The library for matrix products.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Gemm {
    /// cuBLAS; level 2's kernels do everything else.
    Cublas,
    /// cuBLASLt, whose epilogues also do bias, ReLU and the gradients of the biases.
    #[default]
    Cublaslt,
}

/// The options that only this level has.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Level 3")]
pub struct Options {
    #[command(flatten)]
    device: DeviceArgs,
    #[command(flatten)]
    compiler: CompilerArgs,
    #[command(flatten)]
    setup: Setup,
    #[command(flatten)]
    parallel: ParallelArgs,
    /// Print a profile at the end, and write a trace for Perfetto or Chrome to FILE.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with = "graph")]
    profile: Option<PathBuf>,
}

/// How the level computes.
#[derive(Args, Clone, Copy, Debug, Default)]
pub struct Setup {
    /// Library for matrix products.
    #[arg(long, value_name = "LIBRARY", value_enum, default_value_t)]
    pub gemm: Gemm,
    /// Compute products on tensor cores, which round the inputs to TF32 (10 mantissa bits).
    #[arg(long)]
    pub tf32: bool,
    /// Benchmark cuBLASLt's candidate algorithms for each product, keep the best, and print the results
    /// (on the emulated GPU: ranked by counted work).
    #[arg(long)]
    pub autotune: bool,
    /// Capture the launches of a step into a CUDA graph once, and replay it.
    #[arg(long)]
    pub graph: bool,
    /// How batches are copied to the device.
    #[arg(long, value_name = "HOW", value_enum, default_value_t)]
    pub transfer: Strategy,
}

/// The program `level3-cublas`.
#[derive(Clone, Copy, Debug)]
pub struct Program;

impl training::Program for Program {
    const NAME: &'static str = "level3-cublas";
    const ABOUT: &'static str =
        "Level 3 of four: a multilayer perceptron on cuBLAS and cuBLASLt, with cudarc";
    type Options = Options;

    fn is_leader(options: &Options) -> Result<bool> {
        options.parallel.is_leader()
    }

    fn files(options: &Options, path: &Path) -> Vec<PathBuf> {
        options.parallel.files(path)
    }

    fn device(options: &Options) -> Result<String> {
        Ok(options.parallel.open_first(options.device)?.device().to_owned())
    }

    fn dtype(options: &Options) -> Dtype {
        if options.setup.tf32 { Dtype::Tf32 } else { Dtype::F32 }
    }

    fn outputs(options: &Options) -> Vec<(&'static str, &Path)> {
        options.profile.iter().map(|path| ("--profile", path.as_path())).collect()
    }

    const HAS_PLAN_COMMAND: bool = true;

    fn plan(options: &Options, preset: &Preset) -> Result<Vec<String>> {
        let gpu = options.parallel.open_first(options.device)?;
        let mut level = options.level(gpu, &preset.network, Rank::ALONE)?;
        let title =
            format!("{}, batches of {}: what makes each tensor", preset.network, preset.batch_size);
        Ok([vec![title], level.plan(preset.batch_size)?].concat())
    }

    fn level(options: &Options, network: &Network) -> Result<Box<dyn Level>> {
        options.parallel.require_one()?;
        let gpu = options.parallel.open_first(options.device)?;
        Ok(Box::new(options.level(gpu, network, Rank::ALONE)?))
    }

    fn on_each(
        options: &Options,
        network: &Network,
        work: &(dyn Fn(&mut dyn Runner) -> Result<()> + Sync),
    ) -> Result<()> {
        let make = |gpu, place| options.level(gpu, network, place);
        options.parallel.on_each(options.device, &make, work)
    }
}

impl Options {
    /// Makes the level of one rank.
    fn level(&self, gpu: Gpu, network: &Network, place: Rank) -> Result<Level3> {
        let gpu = gpu.compiling_by(self.compiler.compiler);
        let trace = self.profile.as_deref().map(|path| place.file(path));
        let profile = Profile::new(&gpu, trace.as_deref()).map_err(Error::level)?;
        if self.setup.autotune && self.setup.gemm == Gemm::Cublas {
            let reason = "--autotune chooses among algorithms of cuBLASLt: leave out --gemm cublas";
            return Err(Error::Usage(reason.into()));
        }
        Ok(Level3::new(&gpu, network, self.setup, profile)?)
    }
}
