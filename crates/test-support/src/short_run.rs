//! A short training run for tests: on batches in order or shuffled, with a smaller last batch, and with tests on
//! another data set in between.

use data::{Counts, Dataset, Source};
use tensor::{Loss, Network};
use training::train::{Outcome, train};
use training::{Console, Level, Parameters, Preset, Runner, Single};

/// The preset of the run: 3 epochs of 5 batches, the last of which has 20 samples instead of 50. Tests run after every
/// 4 batches.
#[must_use]
pub fn preset(shuffle: bool) -> Preset {
    let mut preset = Preset::find("medium").unwrap();
    preset.network = Network { sizes: vec![784, 17, 10], loss: Loss::CrossEntropy };
    preset.samples = 220;
    preset.batch_size = 50;
    preset.epochs = 3;
    preset.shuffle = shuffle;
    preset.report_every = 1;
    preset.evaluate_every = Some(4);
    preset.learning_rate = 0.05;
    preset
}

/// Trains a level on the built-in digits.
pub fn run(level: &mut dyn Level, preset: &Preset) -> Outcome {
    run_with_runner(&mut Single(level), preset)
}

/// Like [`run`], but trains through a runner.
pub fn run_with_runner(runner: &mut dyn Runner, preset: &Preset) -> Outcome {
    let counts = Counts { train: preset.samples, test: 70 };
    let digits = data::load(Source::Digits, None, counts, &mut |_| {}).unwrap();
    let set = |images| Dataset::new(images, preset.normalisation);
    let start = Parameters::new(&preset.network, preset.initialisation, preset.seed);
    let (training, test) = (set(&digits.train), set(&digits.test));
    train(runner, preset, &training, &test, &start, &mut Console::quiet()).unwrap()
}

/// Checks that every run has the same bits as the first run, and that the first run learns: a batch that arrives too
/// late or too early would change the losses.
pub fn same_bits(runs: impl IntoIterator<Item = (String, Outcome)>) {
    let bits = |run: &Outcome| {
        let losses: Vec<u32> = run.losses.iter().map(|at| at.loss.to_bits()).collect();
        (losses, run.batches, run.samples, run.accuracy.correct)
    };
    let mut runs = runs.into_iter();
    let (_, first) = runs.next().expect("a run");
    assert_eq!((first.batches, first.samples), (15, 660));
    let (start, end) = (first.losses[0].loss, first.losses[14].loss);
    assert!(end < 0.8 * start, "it learns: {start} to {end}");
    for (name, run) in runs {
        assert_eq!(bits(&run), bits(&first), "{name}");
    }
}
