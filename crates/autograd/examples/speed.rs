//! Speed of this engine, compared with lists in Python and with level 1.
//!
//! Python is `python3`, or the variable PYTHON names it; no packages are needed.

#[allow(dead_code, unreachable_pub, reason = "each example uses its part")]
mod original;

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use autograd::level::Autograd;
use autograd::{Device, Element, save};
use data::{Counts, Dataset, Source};
use host::println;
use level1_cpu::{Form, Level1};
use serde::Deserialize;
use training::bench::{BenchPlan, bench};
use training::{Level, Parameters, Preset, Single};

/// The output of the Python script.
#[derive(Deserialize)]
struct Lists {
    losses: Vec<f64>,
    seconds: f64,
}

fn main() -> Result<(), Box<dyn Error>> {
    compare_with_lists()?;
    println!();
    compare_with_level_1()
}

const STEPS: usize = 20;

/// Times twenty steps from the same parameters, in an engine on Python's lists and in this one.
fn compare_with_lists() -> Result<(), Box<dyn Error>> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../reference/micrograd_lists.py");
    let start = std::env::temp_dir().join(format!("autograd-{}.json", std::process::id()));
    let runs = (0..3).map(|_| run_lists(&script, &start)).collect::<Result<Vec<_>, _>>();
    let _ = std::fs::remove_file(&start);
    // The fastest of several runs, as for the engine.
    let mut runs = runs?;
    runs.sort_by(|a, b| a.seconds.total_cmp(&b.seconds));
    let lists = runs.remove(0);

    let network = original::network::<f64>(&Device::Cpu);
    let own = original::train(&network, STEPS)?;
    for (step, (a, b)) in lists.losses.iter().zip(&own).enumerate() {
        // Written so that NaN fails.
        let near = (a - b).abs() <= 1e-9;
        if !near {
            return Err(format!("step {step}: the loss is {a} in Python and {b} here").into());
        }
    }
    println!("100-100-100-1, batch of 10, {STEPS} steps: the losses agree");
    println!("lists in Python   {:>9.3} ms/step", 1e3 * lists.seconds / STEPS as f64);
    for (name, seconds) in
        [("autograd, f64", fastest::<f64>()?), ("autograd, f32", fastest::<f32>()?)]
    {
        let ratio = lists.seconds / (STEPS as f64 * seconds);
        println!("{name}     {:>9.3} ms/step   {ratio:.0} times as fast", 1e3 * seconds);
    }
    Ok(())
}

fn run_lists(script: &PathBuf, start: &Path) -> Result<Lists, Box<dyn Error>> {
    #[derive(serde::Serialize)]
    struct Task {
        x: Vec<f64>,
        y: Vec<f64>,
        rate: f64,
    }
    let (x, y) = original::task::<f64>();
    save(start, &original::network::<f64>(&Device::Cpu))?;
    let task = Task { x: x.to_vec()?, y: y.to_vec()?, rate: original::RATE };
    let python = std::env::var("PYTHON").unwrap_or_else(|_| "python3".into());
    let mut command = Command::new(&python);
    command.arg(script).arg(start).arg(serde_json::to_string(&task)?).arg(STEPS.to_string());
    let output = command.output().map_err(|error| format!("can't start {python}: {error}"))?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned().into());
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}

/// Seconds for a step: the minimum of several runs.
fn fastest<T: Element>() -> Result<f64, Box<dyn Error>> {
    let mut best = f64::INFINITY;
    for _ in 0..10 {
        let network = original::network::<T>(&Device::Cpu);
        let clock = Instant::now();
        original::train(&network, STEPS)?;
        best = best.min(clock.elapsed().as_secs_f64());
    }
    Ok(best / STEPS as f64)
}

/// Prints how many samples per second level 1 and the other programs train. They run in turns, so that a change in
/// the machine's speed affects all of them.
fn compare_with_level_1() -> Result<(), Box<dyn Error>> {
    println!("preset       autograd               level 1, textbook        level 1, fast");
    for name in ["small", "medium", "large", "deep"] {
        let Some(preset) = Preset::find(name) else { continue };
        let counts = Counts { train: 5_120, test: 1 };
        let digits = data::load(Source::Digits, None, counts, &mut |_| {})?;
        let set = Dataset::new(&digits.train, preset.normalisation);
        let start = Parameters::new(&preset.network, preset.initialisation, preset.seed);
        let mut levels: [Box<dyn Level>; 3] = [
            Box::new(Autograd::<f32>::new(&preset.network, &Device::Cpu)),
            Box::new(Level1::new(&preset.network, Form::Textbook)),
            Box::new(Level1::new(&preset.network, Form::Fast)),
        ];
        let mut rates = [0.0_f64; 3];
        for _ in 0..3 {
            for (rate, level) in rates.iter_mut().zip(&mut levels) {
                let plan = BenchPlan { runs: 3, steps: None };
                let runner = &mut Single(level.as_mut());
                let found = bench(runner, &preset, &set, &start, plan, &|| Ok(None))?;
                *rate = rate.max(found.rates[found.rates.len() / 2]);
            }
        }
        let [own, textbook, fast] = rates;
        println!(
            "{name:<10}   {own:>8.0} samples/s   {textbook:>8.0} samples/s, {:.2} ×   {fast:>8.0} samples/s, {:.2} ×",
            textbook / own,
            fast / own
        );
    }
    Ok(())
}
