//! The command line that every level shares: `train` (the default), `dump`, `bench`, `predict` and `plan`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{ArgMatches, Args, CommandFactory, FromArgMatches, Parser, Subcommand, ValueHint};
use tensor::{Dtype, Network};

use crate::runner::{Runner, Single};
use crate::{Error, Level, Preset, Result};

mod commands;
mod level_program;
mod needs;
mod outputs;
mod predict;
mod preset_args;

use level_program::{LevelProgram, WithOptions};
pub use preset_args::whole_number;
use preset_args::{DataArgs, PresetArgs};

/// A level as a program: its name, its own options, and its constructor.
pub trait Program {
    /// The name of the crate and the executable, such as `level1-cpu`.
    const NAME: &'static str;
    /// A description of the level in one line.
    const ABOUT: &'static str;
    /// The options that only this level has.
    type Options: Args + Sync;

    /// The name of the device for dumps and reports.
    ///
    /// # Errors
    /// If the device can't be used.
    fn device(options: &Self::Options) -> Result<String>;

    /// The arithmetic of a run with these options. Dumps name it, because the tolerances of a comparison depend
    /// on it.
    fn dtype(_options: &Self::Options) -> Dtype {
        Dtype::F32
    }

    /// The files that the level's own options cause to be written, each with its option. Before a command begins, it
    /// checks that no two options write the same file.
    fn outputs(_options: &Self::Options) -> Vec<(&'static str, &Path)> {
        Vec::new()
    }

    /// Whether the level has the command `plan`, because it can compute a step in several ways.
    const HAS_PLAN_COMMAND: bool = false;

    /// The output of the command `plan`, line by line: the kernels or products for a preset on this device, and the
    /// reasons why others can't be used.
    ///
    /// # Errors
    /// If the level has no plans, or the device reports an error.
    fn plan(_options: &Self::Options, _preset: &Preset) -> Result<Vec<String>> {
        Err(Error::Usage(format!("{} has only one way to compute: there is no plan", Self::NAME)))
    }

    /// Makes a single level.
    ///
    /// # Errors
    /// If the device can't be used, or the options contradict each other.
    fn level(options: &Self::Options, network: &Network) -> Result<Box<dyn Level>>;

    /// Whether this process prints, tests and writes results. Commands call this first: a program that runs
    /// as one of several processes connects to the others here.
    ///
    /// # Errors
    /// If the other processes aren't found.
    fn is_leader(_options: &Self::Options) -> Result<bool> {
        Ok(true)
    }

    /// The files that this process writes if an option names `path`: one for each copy of the level in this process.
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

    /// Measures the speed of this device's single-precision matrix product (`sgemm`) on large square matrices
    /// in GFLOP/s: the baseline of `bench`. `None` if there is no such product.
    ///
    /// # Errors
    /// If the device reports an error.
    fn sgemm_gflops(_options: &Self::Options) -> Result<Option<f64>> {
        Ok(None)
    }
}

/// The whole command line: the part that all levels share, and the level's own options, which every command accepts.
struct CommandLine<O> {
    shared: SharedArgs,
    options: O,
}

impl<O: Args> CommandFactory for CommandLine<O> {
    fn command() -> clap::Command {
        O::augment_args(SharedArgs::command()).mut_subcommands(|command| {
            // Saves the program's description, because adding the level's options replaces it by the description of
            // their type.
            let about = command.get_about().cloned().unwrap_or_default();
            O::augment_args(command).about(about)
        })
    }

    fn command_for_update() -> clap::Command {
        Self::command()
    }
}

impl<O: Args> FromArgMatches for CommandLine<O> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let of_command = matches.subcommand().map_or(matches, |(_, matches)| matches);
        let options = O::from_arg_matches(of_command)?;
        Ok(Self { shared: SharedArgs::from_arg_matches(matches)?, options })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// The commands and options that all levels share. They don't depend on the level's type, so they are compiled only
/// once.
#[derive(Parser)]
#[command(version, args_conflicts_with_subcommands = true)]
struct SharedArgs {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    train: TrainArgs,
}

#[derive(Subcommand)]
enum Command {
    /// Train the network and test it (the default command).
    Train(TrainArgs),
    /// Run one or several training steps, and write every tensor as JSON.
    Dump(DumpArgs),
    /// Measure the speed of training steps.
    Bench(BenchArgs),
    /// Recognise digits with saved parameters.
    Predict(PredictArgs),
    /// List the kernels or products that would compute a step with this network and batch on this device.
    Plan(PlanArgs),
}

#[derive(Args)]
struct TrainArgs {
    #[command(flatten)]
    preset: PresetArgs,
    #[command(flatten)]
    data: DataArgs,
    /// Write a report of the run to FILE.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    json: Option<PathBuf>,
    /// Write pictures to DIR: the curve of losses and accuracies, a sheet of training
    /// images with their labels, a sheet of test images with predicted and true digits.
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    plot: Option<PathBuf>,
    /// Write a self-contained HTML report to FILE: curves, the confusion matrix, the worst mistakes, the
    /// weights of the first layer. The program `training` compares several reports.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    html: Option<PathBuf>,
    /// Save the trained parameters to FILE as safetensors.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    save: Option<PathBuf>,
    /// Start from the parameters in FILE (safetensors) instead of random ones.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    load: Option<PathBuf>,
}

#[derive(Args)]
struct DumpArgs {
    #[command(flatten)]
    preset: PresetArgs,
    #[command(flatten)]
    data: DataArgs,
    /// Write the dump to FILE, gzipped if it ends in .gz.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    out: PathBuf,
    /// Take batches, parameters, seed and learning rate from FILE, a dump of one or several steps.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    inputs: Option<PathBuf>,
    /// Only write the inputs of the step: the batch and the parameters.
    #[arg(long, conflicts_with = "fused")]
    inputs_only: bool,
    /// Train N batches before the step that is dumped.
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = whole_number::<u32>)]
    step: u32,
    /// Dump N consecutive steps of the training loop to one file, which tensor-diff compares step by step.
    #[arg(long, value_name = "N", value_parser = preset_args::positive)]
    steps: Option<usize>,
    /// Run the step as training does, possibly with fused phases, instead of one phase after the other. The
    /// dump lists the tensors that a fused step never holds in memory.
    #[arg(long)]
    fused: bool,
    /// Start from the parameters in FILE (safetensors) instead of random ones.
    #[arg(long, value_name = "FILE", conflicts_with = "inputs", value_hint = ValueHint::FilePath)]
    load: Option<PathBuf>,
}

#[derive(Args)]
struct BenchArgs {
    #[command(flatten)]
    preset: PresetArgs,
    #[command(flatten)]
    data: DataArgs,
    /// Number of measured runs.
    #[arg(long, value_name = "N", default_value_t = 7, value_parser = preset_args::positive)]
    runs: usize,
    /// Training steps per run [default: enough to fill half a second].
    #[arg(long, value_name = "N", value_parser = preset_args::positive)]
    steps: Option<usize>,
    /// Write the result to FILE.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    json: Option<PathBuf>,
}

#[derive(Args)]
struct PlanArgs {
    #[command(flatten)]
    preset: PresetArgs,
}

#[derive(Args)]
struct PredictArgs {
    #[command(flatten)]
    preset: PresetArgs,
    #[command(flatten)]
    data: DataArgs,
    /// The parameters: a safetensors file of `train --save`, or of PyTorch with the names w1, b1, …. Without
    /// --preset, the network is the one in the file.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    load: PathBuf,
    /// PNG pictures of one digit each, in any colours; the colour of the border counts as paper.
    #[arg(value_name = "PNG", value_hint = ValueHint::FilePath)]
    pictures: Vec<PathBuf>,
    /// Without pictures, the number of test images to recognise.
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = preset_args::positive)]
    count: usize,
}

/// Runs a level's command line. The exit code is 0 for success, 1 if the command ran and failed, 2 for usage or
/// bad input, and 128 plus the signal's number after a signal.
#[must_use]
pub fn main<P: Program>() -> ExitCode {
    host::main(run::<P>)
}

fn plan(args: &PlanArgs, program: &dyn LevelProgram) -> Result<()> {
    let preset = args.preset.preset()?;
    needs::check_training(&preset.network)?;
    for line in program.plan(&preset)? {
        host::print(&format!("{line}\n")).map_err(Error::Output)?;
    }
    Ok(())
}

/// For each command, the options of a preset that have no effect on it. Help doesn't list them.
const NO_EFFECT: [(&str, &[&[&str]]); 4] = [
    ("dump", &[RUN_ONLY]),
    ("bench", &[RUN_ONLY]),
    ("predict", &[RUN_ONLY, TRAINING, &["batch_size"]]),
    ("plan", &[RUN_ONLY, TRAINING, &["normalisation"]]),
];

/// The usage of commands with a required option. They are stated here because if MNIST_DIR is set, clap's error
/// messages would show `--data-dir` as if it were required.
const USAGE: [(&str, &str); 2] =
    [("dump", "[OPTIONS] --out <FILE>"), ("predict", "[OPTIONS] --load <FILE> [PNG]...")];

/// The options that determine how a step trains, and on which samples.
const TRAINING: &[&str] =
    &["learning_rate", "samples", "shuffle", "drop_last", "initialisation", "seed"];

/// The options that only matter to a whole training run.
const RUN_ONLY: &[&str] =
    &["epochs", "report_every", "evaluate_every", "stop_at_accuracy", "max_batches"];

/// Passes negative numbers to the parsers of all options, whose messages name the range. Otherwise clap would report
/// `-1` as an unknown option.
fn accept_negative_numbers(command: clap::Command) -> clap::Command {
    command.mut_args(|arg| {
        let has_value = arg.get_action().takes_values() && !arg.is_positional();
        if has_value { arg.allow_negative_numbers(true) } else { arg }
    })
}

/// Sets the name and description of the program, hides options that have no effect, and states the usage of commands.
fn customised(
    command: clap::Command,
    name: &str,
    about: &'static str,
    plans: bool,
) -> clap::Command {
    let command = command.name(name.to_owned()).about(about);
    let command = command.mut_subcommand("plan", |plan| plan.hide(!plans));
    let command = accept_negative_numbers(command).mut_subcommands(accept_negative_numbers);
    let command = USAGE.into_iter().fold(command, |command, (command_name, usage)| {
        let usage = format!("{name} {command_name} {usage}");
        command.mut_subcommand(command_name, |command| command.override_usage(usage))
    });
    NO_EFFECT.into_iter().fold(command, |command, (name, options)| {
        command.mut_subcommand(name, |command| {
            let options = options.iter().copied().flatten();
            options.fold(command, |command, id| command.mut_arg(id, |arg| arg.hide(true)))
        })
    })
}

fn run<P: Program>() -> ExitCode {
    let command_line: Result<CommandLine<P::Options>, ExitCode> =
        host::parse(|command| customised(command, P::NAME, P::ABOUT, P::HAS_PLAN_COMMAND));
    match command_line {
        Ok(CommandLine { shared, options }) => execute(&shared, &WithOptions::<P>(options)),
        Err(code) => code,
    }
}

/// Executes a command, and reports its error.
fn execute(args: &SharedArgs, program: &dyn LevelProgram) -> ExitCode {
    let result = match &args.command {
        None => commands::train(&args.train, program),
        Some(Command::Train(args)) => commands::train(args, program),
        Some(Command::Dump(args)) => commands::dump(args, program),
        Some(Command::Bench(args)) => commands::bench(args, program),
        Some(Command::Predict(args)) => predict::predict(args, program),
        Some(Command::Plan(args)) => plan(args, program),
    };
    match result {
        Ok(()) => host::signals::received().map_or(0, host::signals::exit_code).into(),
        Err(error) => error.report(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A level's options, with a description that must not become that of a command.
    #[derive(Args)]
    struct Options {
        #[arg(long)]
        option: bool,
    }

    #[test]
    fn the_options_of_a_level_leave_the_descriptions_of_the_commands() {
        let described = |command: clap::Command| {
            let about = |command: &clap::Command| command.get_about().map(ToString::to_string);
            command.get_subcommands().map(about).collect::<Vec<_>>()
        };
        assert_eq!(described(CommandLine::<Options>::command()), described(SharedArgs::command()));
    }
}
