//! Level 3 as a program: its name, its options, its device.

use std::fmt;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum, ValueHint};
use gpu::{CompilerArgs, DeviceArgs, Profile};
use level2_cuda_naive::transfer;
use tensor::{Dtype, Network};
use training::{Error, Level, Result};

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
        f.pad(match self {
            Self::Cublas => "cublas",
            Self::Cublaslt => "cublaslt",
        })
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
    /// Capture the launches of a step once into a CUDA graph, and replay it.
    #[arg(long)]
    graph: bool,
    /// How batches get to the device.
    #[arg(long, value_name = "HOW", value_enum, default_value_t)]
    transfer: transfer::How,
    /// Say at the end what a step launches and moves, beside level 2 and the other --gemm.
    #[arg(long)]
    traffic: bool,
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

    fn device(options: &Options) -> Result<String> {
        let gpu = options.device.open().map_err(Error::level)?;
        Ok(gpu.device().to_owned())
    }

    fn dtype(options: &Options) -> Dtype {
        if options.tf32 { Dtype::Tf32 } else { Dtype::F32 }
    }

    fn outputs(options: &Options) -> Vec<(&'static str, &Path)> {
        options.profile.iter().map(|path| ("--profile", path.as_path())).collect()
    }

    fn level(options: &Options, network: &Network) -> Result<Box<dyn Level>> {
        let gpu = options.compiler.on(options.device.open().map_err(Error::level)?);
        let profile = Profile::new(&gpu, options.profile.as_deref()).map_err(Error::level)?;
        let Options { gemm, tf32, graph, transfer, traffic, .. } = *options;
        let setup = Setup { gemm, tf32, graph, transfer };
        let level = Level3::new(&gpu, network, setup, profile).map_err(Error::level)?;
        Ok(Box::new(level.telling_traffic(traffic)))
    }
}
