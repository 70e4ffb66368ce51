//! Level 3 as a program: its name, its options, its device.

use std::fmt;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum, ValueHint};
use data_parallel::{ParallelArgs, Rank};
use gpu::transfer::Strategy;
use gpu::{CompilerArgs, DeviceArgs, Gpu};
use profile::Profile;
use tensor::{Dtype, Network};
use training::{Error, Level, Preset, Result, Runner};

use crate::{Level3, Setup};

/// Who multiplies matrices.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Gemm {
    /// cuBLAS; everything else is done by level 2's kernels.
    Cublas,
    /// cuBLASLt, which does bias, ReLU and the sums of biases' gradients on the way.
    #[default]
    Cublaslt,
}

impl fmt::Display for Gemm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        host::write_value(self, f)
    }
}

/// The options that only this level has.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Level 3")]
pub struct Options {
    #[command(flatten)]
    device: DeviceArgs,
    #[command(flatten)]
    compiler: CompilerArgs,
    /// Who multiplies matrices.
    #[arg(long, value_name = "LIBRARY", value_enum, default_value_t)]
    gemm: Gemm,
    /// Let tensor cores multiply, which round their inputs to 10 bits behind the point (TF32).
    #[arg(long)]
    tf32: bool,
    /// Measure the algorithms that cuBLASLt's heuristic offers for each product, keep the best, and say
    /// which it was. The emulated GPU has no clock: there it is counted what each asks of a card.
    #[arg(long)]
    autotune: bool,
    /// Capture the launches of a step once into a CUDA graph, and replay it.
    #[arg(long)]
    graph: bool,
    /// How batches get to the device.
    #[arg(long, value_name = "HOW", value_enum, default_value_t)]
    transfer: Strategy,
    #[command(flatten)]
    parallel: ParallelArgs,
    /// Say at the end where the time went, and write a trace for Perfetto or Chrome to this file.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with = "graph")]
    profile: Option<PathBuf>,
}

/// The program `level3-cublas`.
#[derive(Clone, Copy, Debug)]
pub struct Program;

impl training::Program for Program {
    const NAME: &'static str = "level3-cublas";
    const ABOUT: &'static str =
        "Level 3 of four: a multilayer perceptron on cuBLAS and cuBLASLt, with cudarc";
    type Options = Options;

    fn leads(options: &Options) -> Result<bool> {
        options.parallel.leads()
    }

    fn files(options: &Options, path: &Path) -> Vec<PathBuf> {
        options.parallel.files(path)
    }

    fn device(options: &Options) -> Result<String> {
        Ok(options.parallel.open_first(options.device)?.device().to_owned())
    }

    fn dtype(options: &Options) -> Dtype {
        if options.tf32 { Dtype::Tf32 } else { Dtype::F32 }
    }

    fn outputs(options: &Options) -> Vec<(&'static str, &Path)> {
        options.profile.iter().map(|path| ("--profile", path.as_path())).collect()
    }

    const PLANS: bool = true;

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
    /// The level of a rank.
    fn level(&self, gpu: Gpu, network: &Network, place: Rank) -> Result<Level3> {
        let gpu = self.compiler.on(gpu);
        let trace = self.profile.as_deref().map(|path| place.file(path));
        let profile = Profile::new(&gpu, trace.as_deref()).map_err(Error::level)?;
        let Self { gemm, tf32, autotune, graph, transfer, .. } = *self;
        if autotune && gemm == Gemm::Cublas {
            let what = "--autotune chooses among algorithms of cuBLASLt: leave out --gemm cublas";
            return Err(Error::Usage(what.into()));
        }
        let setup = Setup { gemm, tf32, autotune, graph, transfer };
        Ok(Level3::new(&gpu, network, setup, profile)?)
    }
}
