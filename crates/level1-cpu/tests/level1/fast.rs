//! Tests that the fast form agrees with the textbook form: one step of each, from the same inputs, compared
//! with the derived tolerances, on every preset's network and on unusual batches.

use level1_cpu::{Form, Level1};
use tensor::{Dump, Loss, Network};
use training::dump::{Inputs, dump, header};
use training::{Level, Preset};

fn step(preset: &Preset, form: Form) -> Dump {
    let inputs = Inputs::fixture(preset);
    let mut level = Level1::new(&preset.network, form);
    let header = header("level1-cpu", "cpu", preset, 0);
    dump(&mut level, header, preset, &inputs, form == Form::Fast).unwrap()
}

fn assert_agree(preset: &Preset) {
    let (textbook, fast) = (step(preset, Form::Textbook), step(preset, Form::Fast));
    assert!(textbook.header.not_materialised.is_empty());
    let comparison = tensor_diff::compare(&textbook, &fast, 1.0);
    assert!(
        comparison.agrees(),
        "{} with batch {}: {comparison:?}",
        preset.network,
        preset.batch_size
    );
}

#[test]
fn every_network_agrees() {
    for mut preset in Preset::presets().into_iter().chain(Preset::fixtures()) {
        preset.kind = training::PresetKind::Fixture;
        assert_agree(&preset);
    }
}

#[test]
fn odd_sizes_and_batches_agree() {
    let mut preset = Preset::find("softmax").unwrap();
    for loss in Loss::ALL {
        for (sizes, batch) in [
            (vec![784, 10], 1),
            (vec![784, 1, 10], 3),
            (vec![784, 1, 10], 129),
            (vec![3, 5, 7, 2], 129),
            (vec![784, 129, 65, 10], 67),
            (vec![1, 1], 1),
        ] {
            preset.network = Network { sizes, loss };
            preset.batch_size = batch;
            assert_agree(&preset);
        }
    }
}

/// With many cores, so that each has one unit or none.
#[test]
fn many_threads_agree() {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(64).build().unwrap();
    for name in ["batch-37", "batch-67", "units-1025"] {
        pool.install(|| assert_agree(&Preset::find(name).unwrap()));
    }
}

/// A step must not depend on the buffers' contents from the step before.
#[test]
fn batches_of_changing_size_are_independent() {
    let preset = Preset::find("softmax").unwrap();
    let inputs = Inputs::fixture(&preset);
    let order = |size| data::Epoch::in_order(inputs.set.len(), size, false);
    let loss_after = |sizes: &[usize]| {
        let mut level = Level1::new(&preset.network, Form::Fast);
        for &size in sizes {
            level.set_parameters(&inputs.parameters).unwrap();
            level.load(&order(size).batch(&inputs.set, 0), None).unwrap();
            level.step(0.1).unwrap();
        }
        level.loss().unwrap().to_bits()
    };
    assert_eq!(loss_after(&[5]), loss_after(&[8, 5]));
    assert_eq!(loss_after(&[5]), loss_after(&[1, 5, 3, 5]));
}
