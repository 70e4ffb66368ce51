//! The command line that every level shares: `train` (when no subcommand is given), `dump`,
//! `bench` and `predict`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand, ValueHint};
use tensor::{Dtype, Network};

use crate::runner::{Runner, Single};
use crate::{Error, Level, Preset, Result};

mod commands;
mod needs;
mod outputs;
mod predict;
mod preset_args;

use preset_args::{DataArgs, PresetArgs};

/// A level as a program: its name, its own options, and how it is made.
pub trait Program {
    /// The name of the crate and the executable, such as `level1-cpu`.
    const NAME: &'static str;
    /// What the level is, in one line.
    const ABOUT: &'static str;
    /// The options that only this level has.
    type Options: Args + Sync;

    /// The device that a run with these options computes on, as dumps and reports name it.
    ///
    /// # Errors
    /// When that device is not to be had.
    fn device(options: &Self::Options) -> Result<String>;

    /// The arithmetic that a run with these options computes in, as dumps name it: the tolerances
    /// of a comparison follow from it.
    fn dtype(_options: &Self::Options) -> Dtype {
        Dtype::F32
    }

    /// The files that these options have written, each with its option, so that it is known before
    /// the work begins that no other option writes the same.
    fn outputs(_options: &Self::Options) -> Vec<(&'static str, &Path)> {
        Vec::new()
    }

    /// Whether the level has several ways to compute, of which [`plan`](Self::plan) has something to say.
    const PLANS: bool = false;

    /// Which of its ways the level could take with a preset on its device, and why not the others:
    /// lines for the user.
    ///
    /// # Errors
    /// What its device says.
    fn plan(_options: &Self::Options, _preset: &Preset) -> Result<Vec<String>> {
        Err(Error::Usage(format!("{} has one way to compute, and nothing to plan", Self::NAME)))
    }

    /// Makes a single level.
    ///
    /// # Errors
    /// What its device says.
    fn level(options: &Self::Options, network: &Network) -> Result<Box<dyn Level>>;

    /// Whether this process prints, tests and writes results. Commands call this first: a program that runs
    /// as one of several processes connects to the others here.
    ///
    /// # Errors
    /// If the other processes aren't found.
    fn leads(_options: &Self::Options) -> Result<bool> {
        Ok(true)
    }

    /// The files that this process writes if an option names `path`: one for each copy of the level
    /// that writes its own.
    fn files(_options: &Self::Options, path: &Path) -> Vec<PathBuf> {
        vec![path.to_owned()]
    }

    /// Makes the level and runs `work` on it. Several copies that train together each get a runner, and
    /// their `work` runs at the same time.
    ///
    /// # Errors
    /// If the level can't be made or the work fails; for several copies, the first failure.
    fn on_each(
        options: &Self::Options,
        network: &Network,
        work: &(dyn Fn(&mut dyn Runner) -> Result<()> + Sync),
    ) -> Result<()> {
        work(&mut Single(Self::level(options, network)?.as_mut()))
    }

    /// What this device's own single-precision matrix product reaches on large square matrices,
    /// in 10⁹ operations a second, measured now. `bench` states a level's speed as a share of it.
    ///
    /// # Errors
    /// What its device says.
    fn sgemm_gflops(_options: &Self::Options) -> Result<Option<f64>> {
        Ok(None)
    }
}

/// The whole command line.
#[derive(Parser)]
#[command(version, args_conflicts_with_subcommands = true)]
struct Cli<O: Args> {
    #[command(subcommand)]
    command: Option<Command<O>>,
    #[command(flatten)]
    train: TrainArgs<O>,
}

#[derive(Subcommand)]
enum Command<O: Args> {
    /// Trains the network and tests it (what is done when no command is given).
    Train(TrainArgs<O>),
    /// Runs one training step, or several, and writes every tensor as JSON.
    Dump(DumpArgs<O>),
    /// Measures the speed of training steps.
    Bench(BenchArgs<O>),
    /// Recognises digits with saved parameters.
    Predict(PredictArgs<O>),
    /// Lists the kernels or products that would compute a step with this network and batch on this device.
    Plan(PlanArgs<O>),
}

#[derive(Args)]
struct TrainArgs<O: Args> {
    #[command(flatten)]
    preset: PresetArgs,
    #[command(flatten)]
    data: DataArgs,
    /// Write the report of the run to this file.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    json: Option<PathBuf>,
    /// Write pictures to this folder: the curve of losses and accuracies, a sheet of training
    /// images with their labels, a sheet of test images with predicted and true digits.
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    plot: Option<PathBuf>,
    /// Write a page to look at to FILE: curves, which digits were taken for which, the worst
    /// mistakes, the weights of the first layer. `training` lays several reports beside each other.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    html: Option<PathBuf>,
    /// Save the trained parameters as safetensors.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    save: Option<PathBuf>,
    /// Start from parameters saved as safetensors instead of drawing them.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    load: Option<PathBuf>,
    #[command(flatten)]
    options: O,
}

#[derive(Args)]
struct DumpArgs<O: Args> {
    #[command(flatten)]
    preset: PresetArgs,
    #[command(flatten)]
    data: DataArgs,
    /// Write the dump to this file; gzipped when it ends in .gz.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    out: PathBuf,
    /// Take batches, parameters, seed and learning rate from this dump, or run of dumps, instead of
    /// making them.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    inputs: Option<PathBuf>,
    /// Write only what the step starts from: the batch and the parameters.
    #[arg(long, conflicts_with = "fused")]
    inputs_only: bool,
    /// Train this many batches before the step that is dumped.
    #[arg(long, value_name = "N", default_value_t = 0)]
    step: u32,
    /// Dump this many steps of the training loop, one after the other in one file; tensor-diff reads
    /// it as a run.
    #[arg(long, value_name = "N", value_parser = preset_args::positive)]
    steps: Option<usize>,
    /// Run the step that training runs, where phases may be fused, instead of one phase after the
    /// other. What a fused step never holds in memory is listed in the dump.
    #[arg(long)]
    fused: bool,
    /// Start from parameters saved as safetensors instead of drawing them.
    #[arg(long, value_name = "FILE", conflicts_with = "inputs", value_hint = ValueHint::FilePath)]
    load: Option<PathBuf>,
    #[command(flatten)]
    options: O,
}

#[derive(Args)]
struct BenchArgs<O: Args> {
    #[command(flatten)]
    preset: PresetArgs,
    #[command(flatten)]
    data: DataArgs,
    /// Counted runs.
    #[arg(long, value_name = "N", default_value_t = 7, value_parser = preset_args::positive)]
    runs: usize,
    /// Training steps in a run [default: as many as fill half a second].
    #[arg(long, value_name = "N", value_parser = preset_args::positive)]
    steps: Option<usize>,
    /// Write the result to this file.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    json: Option<PathBuf>,
    #[command(flatten)]
    options: O,
}

#[derive(Args)]
struct PlanArgs<O: Args> {
    #[command(flatten)]
    preset: PresetArgs,
    #[command(flatten)]
    options: O,
}

#[derive(Args)]
struct PredictArgs<O: Args> {
    #[command(flatten)]
    preset: PresetArgs,
    #[command(flatten)]
    data: DataArgs,
    /// The parameters, saved by `train --save` or by PyTorch as w1, b1, …; the file says which
    /// network they are of, unless --preset does.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    load: PathBuf,
    /// Pictures of one digit each (PNG), in any colours; the border shows the paper.
    #[arg(value_name = "PNG", value_hint = ValueHint::FilePath)]
    pictures: Vec<PathBuf>,
    /// Without pictures: how many test images to show.
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = preset_args::positive)]
    count: usize,
    #[command(flatten)]
    options: O,
}

/// Runs a level's command line and says how it ended: 0 done, 1 it ran and failed, 2 usage or bad
/// input, and 128 and its number when a signal asked it to end.
#[must_use]
pub fn main<P: Program>() -> ExitCode {
    host::main(run::<P>)
}

fn plan<P: Program>(args: &PlanArgs<P::Options>) -> Result<()> {
    let preset = args.preset.preset()?;
    needs::of_training(&preset.network)?;
    for line in P::plan(&args.options, &preset)? {
        host::print(&format!("{line}\n")).map_err(Error::Output)?;
    }
    Ok(())
}

fn run<P: Program>() -> ExitCode {
    let named = |command: clap::Command| {
        let command = command.name(P::NAME).about(P::ABOUT);
        command.mut_subcommand("plan", |plan| plan.hide(!P::PLANS))
    };
    let cli: Cli<P::Options> = match host::parse(named) {
        Ok(cli) => cli,
        Err(code) => return code,
    };
    let result = match cli.command {
        None => commands::train::<P>(&cli.train),
        Some(Command::Train(args)) => commands::train::<P>(&args),
        Some(Command::Dump(args)) => commands::dump::<P>(&args),
        Some(Command::Bench(args)) => commands::bench::<P>(&args),
        Some(Command::Predict(args)) => predict::predict::<P>(&args),
        Some(Command::Plan(args)) => plan::<P>(&args),
    };
    ExitCode::from(match result {
        Ok(()) => host::signals::received().map_or(0, host::signals::exit_code),
        Err(Error::Output(error)) => host::lost_output(&error, 1),
        Err(error) => {
            host::complain(format_args!("error: {error}"));
            error.exit_code()
        }
    })
}
