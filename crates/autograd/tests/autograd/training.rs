//! Tests that training on this engine has the same losses as level 1, step for step.

use autograd::level::Autograd;
use autograd::{Choice, Device};
use data::{Counts, Dataset, Source};
use level1_cpu::{Form, Level1};
use training::{Level, Parameters, Preset};

/// The losses of some steps of a preset on the built-in digits.
fn losses(level: &mut dyn Level, preset: &Preset, set: &Dataset, steps: usize) -> Vec<f32> {
    let start = Parameters::new(&preset.network, preset.initialisation, preset.seed);
    let order = training::train::epoch_order(preset, set.len(), 0);
    level.dataset(set).unwrap();
    level.set_parameters(&start).unwrap();
    let step = |k| {
        level.load(&order.batch(set, k), None).unwrap();
        level.step(preset.learning_rate).unwrap();
        level.loss().unwrap()
    };
    (0..steps).map(step).collect()
}

fn digits(preset: &Preset, samples: usize) -> Dataset {
    let counts = Counts { train: samples, test: 1 };
    let digits = data::load(Source::Digits, None, counts, &mut |_| {}).unwrap();
    Dataset::new(&digits.train, preset.normalisation)
}

/// Equal up to the rounding errors of `f32` over a few hundred updates.
#[track_caller]
fn agree(name: &str, by_hand: &[f32], own: &[f32]) {
    assert_eq!(by_hand.len(), own.len());
    for (step, (a, b)) in by_hand.iter().zip(own).enumerate() {
        assert!((a - b).abs() <= 1e-5 * a.abs(), "{name}, step {step}: {a} by hand, {b} here");
    }
}

/// Compares the losses of all 234 batches of `small`, on the built-in digits.
#[test]
fn the_losses_are_level_1s() {
    let preset = Preset::find("small").unwrap();
    let set = digits(&preset, preset.samples);
    let mut level1 = Level1::new(&preset.network, Form::Textbook);
    let by_hand = losses(&mut level1, &preset, &set, 234);
    assert!(by_hand[233] < 0.5 * by_hand[0], "it learns: {by_hand:?}");
    let mut own = Autograd::<f32>::new(&preset.network, &Device::Cpu);
    agree("small", &by_hand, &losses(&mut own, &preset, &set, 234));
}

/// Some steps of every preset, including shuffled ones, on the CPU and on the emulated GPU.
#[test]
fn every_preset_trains_as_at_level_1() {
    let gpu = Device::cuda(Choice::Emulated).unwrap();
    for preset in Preset::presets() {
        let set = digits(&preset, 3 * preset.batch_size);
        let by_hand = losses(&mut Level1::new(&preset.network, Form::Textbook), &preset, &set, 3);
        for device in [&Device::Cpu, &gpu] {
            let mut own = Autograd::<f32>::new(&preset.network, device);
            agree(&preset.name, &by_hand, &losses(&mut own, &preset, &set, 3));
        }
    }
}
