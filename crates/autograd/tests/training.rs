//! Training through this engine is training at level 1, step for step.

use autograd::Device;
use autograd::level::Autograd;
use data::{Counts, Dataset, Epoch, Source};
use level1_cpu::{Form, Level1};
use training::{Level, Parameters, Preset};

/// All 234 batches of `nvmath`, on the built-in digits: the losses of both, at every step.
#[test]
fn the_losses_are_level_1s() {
    let preset = Preset::find("nvmath").unwrap();
    let counts = Counts { train: preset.samples, test: 1 };
    let digits = data::load(Source::Digits, None, counts, &mut |_| {}).unwrap();
    let set = Dataset::new(&digits.train, preset.normalisation);
    let start = Parameters::new(&preset.network, preset.initialisation, preset.seed);
    let losses = |level: &mut dyn Level| {
        let order = Epoch::in_order(set.len(), preset.batch_size, preset.drop_last);
        level.set_parameters(&start).unwrap();
        let step = |k| {
            level.load(&order.batch(&set, k), None).unwrap();
            level.step(preset.learning_rate).unwrap();
            level.loss().unwrap()
        };
        (0..order.batches()).map(step).collect::<Vec<f32>>()
    };
    let by_hand = losses(&mut Level1::new(&preset.network, Form::Textbook));
    let own = losses(&mut Autograd::<f32>::new(&preset.network, &Device::Cpu));
    assert_eq!(by_hand.len(), 234);
    assert!(by_hand[233] < 0.5 * by_hand[0], "it learns: {by_hand:?}");
    for (step, (a, b)) in by_hand.iter().zip(&own).enumerate() {
        // 24 bits, and what a few hundred updates make of the last of them.
        assert!((a - b).abs() <= 1e-5 * a.abs(), "step {step}: {a} by hand, {b} here");
    }
}
