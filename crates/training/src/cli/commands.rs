//! The commands `train`, `dump` and `bench`.

use std::path::Path;

use data::{Counts, Dataset, Digits, Epoch, Origin};
use tensor::Dump;

use super::preset_args::datasets;
use super::{BenchArgs, DumpArgs, LevelProgram, TrainArgs, needs, outputs};
use crate::bench::{self, Bench};
use crate::dump::{self, Inputs, Steps};
use crate::report::{Report, write_json};
use crate::train::{self, Outcome, StopReason};
use crate::{
    Console, Error, Level, Parameters, Preset, PresetKind, Result, Runner, Terms, checkpoint, plot,
    report_page,
};

/// The number of images on a sheet of `--plot`.
const SHEET: usize = 40;

/// The command `train`: trains, tests, and writes the requested files.
pub(super) fn train(args: &TrainArgs, program: &dyn LevelProgram) -> Result<()> {
    let preset = args.preset.preset()?;
    only_presets(&preset, "train")?;
    let leads = program.is_leader()?;
    let mut outputs = outputs::of_level(program, None);
    if leads {
        for (option, path) in
            [("--json", &args.json), ("--html", &args.html), ("--save", &args.save)]
        {
            outputs.extend(path.clone().map(|path| (option, path)));
        }
        if let Some(folder) = &args.plot {
            plot::prepare(folder)?;
            outputs.extend(plot::FILES.map(|name| ("--plot", folder.join(name))));
        }
    }
    outputs::check(&outputs)?;
    needs::check_training(&preset.network)?;
    let start = start_from(args.load.as_deref(), &preset)?;
    let counts = Counts { train: preset.samples, test: usize::MAX };
    let digits = args.data.load(&preset.network, counts, leads)?;
    let (train_set, test_set) = datasets(&digits, &preset);
    let device = program.device()?;

    let goes_on = !outputs.is_empty() || args.plot.is_some();
    program.on_each(&preset.network, &|runner| {
        // From here on, a signal ends training after the batch, and the requested files are still written.
        host::signals::handle_first_signal();
        let mut console = console(runner, goes_on);
        console.line(&title(program, &device, &preset, runner))?;
        console.line(&describe(&preset, &digits))?;
        let run = train::train(runner, &preset, &train_set, &test_set, &start, &mut console)?;
        let world_size = runner.world_size();
        let Some(level) = runner.tester() else {
            return print_report(&console, runner.level(), None);
        };
        for line in summary(&preset, &run) {
            console.line(&line)?;
        }

        // All files are attempted even if one fails, because a full disk may only affect one of them.
        let mut report = Report::new(program.name(), &device, &preset, &digits, &run);
        report.world_size = world_size;
        let saved = args.save.as_ref().map_or(Ok(()), |path| {
            checkpoint::save(path, &run.parameters, &preset)?;
            console.line(&format!("parameters saved to {}", host::shown(path)))
        });
        let reported = args.json.as_ref().map_or(Ok(()), |path| write_json(path, &report));
        let drawn = args.plot.as_ref().map_or(Ok(()), |folder| {
            draw(folder, level, &report, &digits, &test_set)?;
            console.line(&format!("pictures written to {}", host::shown(folder)))
        });
        let shown = args.html.as_ref().map_or(Ok(()), |path| {
            report_page::write_one(path, &report, &run.parameters, &digits.test)?;
            console.line(&format!("page written to {}", host::shown(path)))
        });
        let printed = print_report(&console, level, Some(&percent(&run)));
        let mut failures = [saved, reported, drawn, shown, printed, console.finish()].into_iter();
        let first = failures.find(Result::is_err).unwrap_or(Ok(()));
        for failure in failures.filter_map(Result::err) {
            host::complain(format_args!("error: {failure}"));
        }
        first
    })
}

/// The console of a copy of a level; only the copy that tests the network writes to standard output.
fn console(runner: &mut dyn Runner, goes_on: bool) -> Console {
    if runner.tester().is_some() { Console::new(goes_on) } else { Console::listening() }
}

/// The first line of output: the program, the device, the preset, and the number of ranks.
fn title(program: &dyn LevelProgram, device: &str, preset: &Preset, runner: &dyn Runner) -> String {
    let ranks = runner.world_size().map_or_else(String::new, |ranks| format!(", {ranks} ranks"));
    format!("{} on {device}, preset {}{ranks}", program.name(), preset.name)
}

/// Draws the pictures of `--plot`.
fn draw(
    folder: &Path,
    level: &mut dyn Level,
    report: &Report,
    digits: &Digits,
    test_set: &Dataset,
) -> Result<()> {
    let order = Epoch::in_order(test_set.len(), SHEET, false);
    let predictions = train::predict(level, &order.batch(test_set, 0))?;
    let labels = &digits.train.labels()[..SHEET.min(digits.train.len())];
    let [curve, training, tested] = plot::FILES.map(|name| folder.join(name));
    plot::curve(&curve, report)?;
    plot::sheet(&training, &digits.train, labels)?;
    plot::sheet(&tested, &digits.test, &predictions)
}

/// Prints the level's own report, such as a profile.
pub(super) fn print_report(
    console: &Console,
    level: &mut dyn Level,
    accuracy: Option<&str>,
) -> Result<()> {
    level.report(accuracy)?.iter().try_for_each(|line| console.line(line))
}

/// The command `dump`: writes all tensors of one or several training steps.
pub(super) fn dump(args: &DumpArgs, program: &dyn LevelProgram) -> Result<()> {
    let mut preset = args.preset.preset()?;
    let leads = program.is_leader()?;
    // If no step is computed, the inputs are not divided among ranks, and rank 0 writes a single file.
    let computes = !args.inputs_only || args.step > 0 || args.steps.is_some_and(|steps| steps > 1);
    let out = ("--out", args.out.as_path());
    let mut outputs = outputs::of_level(program, Some(out).filter(|_| computes));
    if leads && !computes {
        outputs.push((out.0, args.out.clone()));
    }
    outputs::check(&outputs)?;
    let mut step = u64::from(args.step);
    let steps =
        Steps { before: args.step as usize, dumped: args.steps.unwrap_or(1), fused: args.fused };
    let check_length =
        |preset: &Preset| needs::check_run(&preset.network, steps.dumped, args.inputs_only);
    let inputs = match &args.inputs {
        Some(path) => {
            let run = Dump::read_run(path)?;
            let source = &run[0];
            step += source.header.step;
            if let Some(named) = Preset::find(&source.header.preset) {
                preset = named;
            }
            preset.name.clone_from(&source.header.preset);
            let inputs = Inputs::from_run(&run, &mut preset);
            let inputs = inputs
                .map_err(|error| Error::Read { path: path.clone(), reason: error.to_string() })?;
            args.preset.apply_to(&mut preset)?;
            if preset.network.sizes != inputs.parameters.sizes() {
                return Err(Error::Usage(format!(
                    "--sizes asks for {}, but the parameters in {} belong to another network",
                    preset.network,
                    host::shown(path)
                )));
            }
            check_length(&preset)?;
            inputs
        }
        None if preset.kind == PresetKind::Fixture => {
            check_length(&preset)?;
            needs::check_dump(&preset, usize::MAX)?;
            let mut inputs = Inputs::fixture(&preset);
            if let Some(path) = &args.load {
                inputs.parameters = checkpoint::load(path, &preset.network)?;
            }
            inputs
        }
        None => {
            check_length(&preset)?;
            needs::check_dump(&preset, preset.samples.min(Counts::ALL.train))?;
            let parameters = start_from(args.load.as_deref(), &preset)?;
            let counts = Counts { train: preset.samples, test: 1 };
            let digits = args.data.load(&preset.network, counts, leads)?;
            let set = Dataset::new(&digits.train, preset.normalisation);
            let inputs = Inputs::of_training(set, parameters);
            match digits.origin {
                Origin::Mnist(_) => inputs.name_as_mnist(preset.normalisation),
                Origin::Synthetic => inputs,
            }
        }
    };
    let device = program.device()?;
    let mut header = dump::header(program.name(), &device, &preset, step);
    header.dtype = program.dtype();
    header.steps = args.steps.map(|steps| steps as u64);
    if !computes {
        let run = [dump::inputs_only(header, &preset, &inputs)];
        return if leads { Ok(Dump::write_run(&run, &args.out)?) } else { Ok(()) };
    }
    program.on_each(&preset.network, &|runner| {
        let (set, start) = (&inputs.set, &inputs.parameters);
        let terms = Terms { command: "dump", steps: Some(steps), preset: &preset, set, start };
        runner.check_terms(&terms)?;
        let mut header = header.clone();
        let out = runner.dump_file(&mut header, &args.out);
        Dump::write_each(&out, |write| {
            let dumped = if args.inputs_only { dump::inputs_into } else { dump::run_into };
            let mut sink = |dump| Ok(write(&dump)?);
            dumped(runner, &header, &preset, &inputs, steps, &mut sink)
        })
    })
}

/// The command `bench`: measures training in samples per second.
pub(super) fn bench(args: &BenchArgs, program: &dyn LevelProgram) -> Result<()> {
    let preset = args.preset.preset()?;
    only_presets(&preset, "bench")?;
    let leads = program.is_leader()?;
    let mut outputs = outputs::of_level(program, None);
    outputs.extend(args.json.clone().filter(|_| leads).map(|path| ("--json", path)));
    outputs::check(&outputs)?;
    needs::check_training(&preset.network)?;
    let start = Parameters::new(&preset.network, preset.initialisation, preset.seed);
    let counts = Counts { train: preset.samples, test: 1 };
    let digits = args.data.load(&preset.network, counts, leads)?;
    let (set, _) = datasets(&digits, &preset);
    let device = program.device()?;
    program.on_each(&preset.network, &|runner| {
        let plan = bench::BenchPlan { runs: args.runs, steps: args.steps };
        let baseline = || program.sgemm_gflops();
        let measured = bench::bench(runner, &preset, &set, &start, plan, &baseline)?;
        let console = console(runner, args.json.is_some());
        if runner.tester().is_none() {
            return print_report(&console, runner.level(), None);
        }
        let rates = &measured.rates;
        let median = rates[rates.len() / 2];
        let result = Bench {
            level: program.name().into(),
            device: device.clone(),
            world_size: runner.world_size(),
            preset: preset.name.clone(),
            data: digits.origin.to_string(),
            runs: rates.len(),
            steps: measured.steps,
            samples_per_second: median,
            samples_per_second_min: rates[0],
            samples_per_second_max: rates[rates.len() - 1],
            gflops: median * bench::operations_per_sample(&preset.network) as f64 * 1e-9,
            sgemm_gflops: measured.baseline,
            last_loss: measured.last_loss,
        };
        console.line(&title(program, &device, &preset, runner))?;
        console.line(&describe(&preset, &digits))?;
        for line in rates_of(&result) {
            console.line(&line)?;
        }
        print_report(&console, runner.level(), None)?;
        if let Some(path) = &args.json {
            write_json(path, &result)?;
        }
        console.finish()
    })
}

/// Formats the result of `bench` as lines of output.
fn rates_of(result: &Bench) -> Vec<String> {
    let share = match result.sgemm_gflops {
        Some(peak) => {
            format!(", {:.0} % of the {peak:.0} of a large sgemm", 100.0 * result.gflops / peak)
        }
        None => String::new(),
    };
    vec![
        format!(
            "{:.0} samples/s, the median of {} runs of {} steps (slowest {:.0}, fastest {:.0})",
            result.samples_per_second,
            result.runs,
            result.steps,
            result.samples_per_second_min,
            result.samples_per_second_max
        ),
        format!("{:.1} GFLOP/s in matrix products{share}", result.gflops),
        format!("loss of the last batch {:.4}", result.last_loss),
    ]
}

fn only_presets(preset: &Preset, command: &str) -> Result<()> {
    if preset.kind == PresetKind::Preset {
        return Ok(());
    }
    let names: Vec<String> = Preset::presets().into_iter().map(|preset| preset.name).collect();
    Err(Error::Usage(format!(
        "{} is a fixture for `dump`, a batch of noise: use {command} with one of {}",
        preset.name,
        names.join(", ")
    )))
}

/// The initial parameters of a run: random, or from a file.
fn start_from(file: Option<&Path>, preset: &Preset) -> Result<Parameters> {
    match file {
        Some(path) => checkpoint::load(path, &preset.network),
        None => Ok(Parameters::new(&preset.network, preset.initialisation, preset.seed)),
    }
}

/// Describes the network, the data and the training in three lines.
fn describe(preset: &Preset, digits: &Digits) -> String {
    let plural = |n: usize, word: &str| format!("{n} {word}{}", if n == 1 { "" } else { "s" });
    format!(
        "network   {}, {} parameters\n\
         data      {}: {} training and {}, {}\n\
         training  SGD, learning rate {:?}, batches of {}{}, {}, {}, seed {}",
        preset.network,
        preset.network.parameter_count(),
        digits.origin,
        digits.train.len(),
        plural(digits.test.len(), "test image"),
        preset.normalisation,
        preset.learning_rate,
        preset.batch_size,
        if preset.drop_last { ", the last one only if full" } else { "" },
        if preset.shuffle { "shuffled" } else { "in order" },
        plural(preset.epochs, "epoch"),
        preset.seed
    )
}

/// The test accuracy.
fn percent(run: &Outcome) -> String {
    format!("{:.2} %", 100.0 * run.accuracy.fraction())
}

/// Formats the outcome of training as lines of output.
fn summary(preset: &Preset, run: &Outcome) -> Vec<String> {
    let seconds = run.training_time.as_secs_f64();
    let rate = run.samples as f64 / seconds;
    let mut lines = match run.stop_reason {
        StopReason::Interrupted => {
            let signal = host::signals::received().unwrap_or(host::signals::CTRL_C);
            vec![format!("stopped by {}", host::signals::name(signal))]
        }
        StopReason::Accuracy => vec!["stopped: the test accuracy passed the mark".to_owned()],
        StopReason::MaxBatches => vec![format!("stopped after {} batches", run.batches)],
        StopReason::Epochs => Vec::new(),
    };
    lines.push(format!(
        "{} batches, {} samples in {seconds:.2} s: {rate:.0} samples/s",
        run.batches, run.samples
    ));
    let left_out = if preset.drop_last { ", full batches only" } else { "" };
    lines.push(format!(
        "test accuracy {} ({} of {}{left_out})",
        percent(run),
        run.accuracy.correct,
        run.accuracy.total
    ));
    lines
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::train::Accuracy;

    #[test]
    fn the_summary_names_batches_speed_and_accuracy() {
        let mut preset = Preset::find("small").unwrap();
        preset.drop_last = false;
        let mut run = Outcome {
            accuracy: Accuracy { correct: 3, total: 8 },
            batches: 7,
            samples: 90,
            training_time: Duration::from_millis(1500),
            ..Outcome::default()
        };
        let lines =
            ["7 batches, 90 samples in 1.50 s: 60 samples/s", "test accuracy 37.50 % (3 of 8)"];
        assert_eq!(summary(&preset, &run), lines);
        run.stop_reason = StopReason::MaxBatches;
        assert_eq!(summary(&preset, &run)[0], "stopped after 7 batches");
        preset.drop_last = true;
        assert_eq!(summary(&preset, &run)[2], "test accuracy 37.50 % (3 of 8, full batches only)");
    }
}
