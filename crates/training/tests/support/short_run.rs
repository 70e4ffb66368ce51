//! A short training run that the tests of several levels make: in order and shuffled, with a last batch
//! that is smaller, and with tests of another set in between.

use data::{Counts, Dataset, Source};
use tensor::{Loss, Network};
use training::train::{Outcome, train};
use training::{Console, Level, Parameters, Preset};

/// 3 epochs of 5 batches, the last of each with 20 samples instead of 50, tested after every 4.
pub(crate) fn preset(shuffle: bool) -> Preset {
    let mut preset = Preset::find("manning").unwrap();
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
pub(crate) fn run(level: &mut dyn Level, preset: &Preset) -> Outcome {
    let counts = Counts { train: preset.samples, test: 70 };
    let digits = data::load(Source::Digits, None, counts, &mut |_| {}).unwrap();
    let set = |images| Dataset::new(images, preset.normalisation);
    let start = Parameters::new(&preset.network, preset.initialisation, preset.seed);
    let (training, test) = (set(&digits.train), set(&digits.test));
    train(level, preset, &training, &test, &start, &mut Console::quiet()).unwrap()
}
