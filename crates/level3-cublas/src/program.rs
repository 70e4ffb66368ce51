//! Level 3 as a program: its name, its options, its device.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;

use clap::{Args, ValueEnum, ValueHint};
use gpu::transfer::Strategy;
use gpu::{CompilerArgs, DeviceArgs, Gpu};
use profile::Profile;
use tensor::{Dtype, Network};
use training::{Error, Level, Rank, Result};

use crate::ranks::{Environment, Process, on_gpus, on_process};
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
    /// Train on this many GPUs of this machine: each is a rank, which takes its share of every batch.
    #[arg(long, value_name = "N", default_value_t = 1, conflicts_with = "distributed",
          value_parser = clap::value_parser!(u8).range(1..=64))]
    gpus: u8,
    /// Be one of several ranks, each a process with a GPU: which one, of how many, and where rank 0 is,
    /// say RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR and MASTER_PORT, as torchrun sets them, or
    /// Slurm's variables. Ranks of several machines or users need the same FOUR_LEVELS_SECRET, a random
    /// text; without it, only processes of this user on this machine are let in.
    #[arg(long)]
    distributed: bool,
    /// With several ranks, send gradients as soon as there are this many KiB of them.
    #[arg(long, value_name = "KIB", default_value_t = 1)]
    bucket: u32,
    /// With --distributed, wait this many seconds for the other ranks to come, and then as long, but 30
    /// seconds at least, for all to be ready.
    #[arg(long, value_name = "SECONDS", default_value_t = 8)]
    wait: u32,
    /// Say at the end what a step launches and moves, beside level 2 and the other --gemm.
    #[arg(long)]
    traffic: bool,
    /// Say at the end where the time went, and write a trace for Perfetto or Chrome to this file.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with = "graph")]
    profile: Option<PathBuf>,
    /// This process among the others, once it has found them.
    #[arg(skip)]
    process: OnceLock<Process>,
}

/// The program `level3-cublas`.
#[derive(Clone, Copy, Debug)]
pub struct Program;

impl training::Program for Program {
    const NAME: &'static str = "level3-cublas";
    const ABOUT: &'static str =
        "Level 3 of four: a multilayer perceptron on cuBLAS and cuBLASLt, with cudarc";
    type Options = Options;

    fn ranks(options: &Options) -> Result<Vec<Rank>> {
        if !options.distributed {
            let world_size = usize::from(options.gpus);
            return Ok((0..world_size).map(|rank| Rank { rank, world_size }).collect());
        }
        let environment = Environment::read(|name| std::env::var(name).ok());
        let wait = Duration::from_secs(options.wait.into());
        let process = environment.and_then(|environment| Process::start(&environment, wait));
        let process = process.map_err(Error::level)?;
        Ok(vec![options.process.get_or_init(|| process).place])
    }

    fn device(options: &Options) -> Result<String> {
        Ok(options
            .open(Rank { rank: 0, world_size: usize::from(options.gpus) })?
            .device()
            .to_owned())
    }

    fn dtype(options: &Options) -> Dtype {
        if options.tf32 { Dtype::Tf32 } else { Dtype::F32 }
    }

    fn outputs(options: &Options) -> Vec<(&'static str, &Path)> {
        options.profile.iter().map(|path| ("--profile", path.as_path())).collect()
    }

    fn level(options: &Options, network: &Network) -> Result<Box<dyn Level>> {
        Ok(Box::new(options.level(network, Rank::ALONE)?))
    }

    fn on_each(
        options: &Options,
        network: &Network,
        work: &(dyn Fn(&mut dyn Level) -> Result<()> + Sync),
    ) -> Result<()> {
        let world_size = usize::from(options.gpus);
        match options.process.get() {
            Some(process) => {
                on_process(process, || options.level(network, process.place), &|level| work(level))
            }
            None if world_size == 1 => work(Self::level(options, network)?.as_mut()),
            None => {
                let gpu = options.open(Rank { rank: 0, world_size })?;
                let make = |place| options.level(network, place);
                on_gpus(&gpu, world_size, &make, &|level| work(level))
            }
        }
    }
}

impl Options {
    /// The GPU of a rank.
    fn open(&self, place: Rank) -> Result<Gpu> {
        let device = self.device;
        let gpu = match self.process.get() {
            // The driver may show a process its own GPU alone; an emulated one is its own anyway.
            Some(process) => {
                let opened = match process.place.is_first() {
                    true => device.open(),
                    // One rank says what there is to say of the device.
                    false => Gpu::open(device.device),
                };
                opened.and_then(|gpu| match gpu.count()? {
                    1 => Ok(gpu),
                    _ if gpu.is_emulated() => Ok(gpu),
                    _ => Gpu::open_one(device.device, process.local_rank, process.local_rank + 1),
                })
            }
            None => device.open_one(place.rank, place.world_size),
        };
        Ok(self.compiler.on(gpu.map_err(Error::level)?))
    }

    /// The level of a rank.
    fn level(&self, network: &Network, place: Rank) -> Result<Level3> {
        let gpu = self.open(place)?;
        let trace = self.profile.as_deref().map(|path| place.file(path));
        let profile = Profile::new(&gpu, trace.as_deref()).map_err(Error::level)?;
        let Self { gemm, tf32, autotune, graph, transfer, traffic, bucket, .. } = *self;
        if autotune && gemm == Gemm::Cublas {
            let what = "--autotune chooses among algorithms of cuBLASLt: leave out --gemm cublas";
            return Err(Error::Usage(what.into()));
        }
        let bucket = (bucket as usize).saturating_mul(1024);
        let setup = Setup { gemm, tf32, autotune, graph, transfer, bucket };
        let level = Level3::new(&gpu, network, setup, profile).map_err(Error::level)?;
        Ok(level.telling_traffic(traffic))
    }
}
