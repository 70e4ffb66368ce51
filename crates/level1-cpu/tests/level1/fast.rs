//! Tests that the fast form agrees with the textbook form: one step of each, from the same inputs, compared
//! with the derived tolerances, on every preset's network and on unusual batches.

use level1_cpu::{Form, Level1};
use proptest::prelude::*;
use tensor::{Dump, Loss, Network, TensorName};
use training::dump::{Inputs, dump, header};
use training::{Level, Preset};

fn step(preset: &Preset, form: Form) -> Dump {
    step_from(preset, &Inputs::fixture(preset), form)
}

fn step_from(preset: &Preset, inputs: &Inputs, form: Form) -> Dump {
    let mut level = Level1::new(&preset.network, form);
    let header = header("level1-cpu", "cpu", preset, 0);
    dump(&mut level, header, preset, inputs, form == Form::Fast).unwrap()
}

/// Calls `run` with `threads` threads, whatever the number of cores.
fn with_threads<T: Send>(threads: usize, run: impl FnOnce() -> T + Send) -> T {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(run)
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

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..Default::default() })]

    #[test]
    fn all_shapes_agree(
        sizes in prop::collection::vec(1_usize..=70, 2..=4),
        batch in 1_usize..=300,
        loss in prop::sample::select(Loss::ALL.to_vec()),
        threads in 1_usize..=5,
    ) {
        let mut preset = Preset::find("softmax").unwrap();
        preset.network = Network { sizes, loss };
        preset.batch_size = batch;
        with_threads(threads, || assert_agree(&preset));
    }
}

/// Uses more threads than chunks of the weights, so that each thread has at most one.
#[test]
fn many_threads_agree() {
    for name in ["batch-37", "batch-67", "units-1025"] {
        with_threads(64, || assert_agree(&Preset::find(name).unwrap()));
    }
}

/// The result does not depend on which thread computes an item, or when.
#[test]
fn the_same_number_of_threads_gives_the_same_bits() {
    let mut preset = Preset::find("deep").unwrap();
    preset.kind = training::PresetKind::Fixture;
    for threads in [1, 2, 3, 8] {
        let train = || {
            let mut level = Level1::new(&preset.network, Form::Fast);
            let inputs = Inputs::fixture(&preset);
            level.set_parameters(&inputs.parameters).unwrap();
            let order = data::Epoch::in_order(inputs.set.len(), preset.batch_size, false);
            for _ in 0..20 {
                level.load(&order.batch(&inputs.set, 0), None).unwrap();
                level.step(0.1).unwrap();
            }
            level.tensor(TensorName::W(1)).unwrap().unwrap().into_data()
        };
        let [first, second] = [(); 2].map(|()| with_threads(threads, train));
        assert!(first.iter().zip(&second).all(|(a, b)| a.to_bits() == b.to_bits()), "{threads}");
    }
}

/// The fast form defers a step's update to the next step. Reading a tensor in between must not make a difference, nor
/// may batches of several sizes, in order or shuffled.
#[test]
fn a_deferred_update_is_the_same_update() {
    let preset = Preset::find("three-layer").unwrap();
    let inputs = Inputs::fixture(&Preset { batch_size: 37, ..preset.clone() });
    let len = inputs.set.len();
    let orders = [
        data::Epoch::in_order(len, 16, false),
        // Batches of eight are updated and multiplied in one pass, unless a tensor is read in between.
        data::Epoch::in_order(len, 8, false),
        data::Epoch::shuffled(len, 8, false, 1, 2),
        data::Epoch::shuffled(len, 16, false, 1, 0),
        data::Epoch::shuffled(len, 3, false, 1, 1),
    ];
    let train = |read: bool| {
        let mut level = Level1::new(&preset.network, Form::Fast);
        level.set_parameters(&inputs.parameters).unwrap();
        for batch in orders.iter().flat_map(|order| order.all(&inputs.set)) {
            level.load(&batch, None).unwrap();
            level.step(0.1).unwrap();
            if read {
                level.tensor(TensorName::W(1)).unwrap();
            }
        }
        [TensorName::W(1), TensorName::B(2), TensorName::W(3), TensorName::Dz(1)]
            .map(|name| level.tensor(name).unwrap().unwrap().into_data())
    };
    assert_eq!(train(false), train(true));
}

/// Rows from all over the dataset give the same bits as a dataset that has them in the batch's order.
#[test]
fn shuffled_rows_are_read_in_place() {
    let preset = Preset::find("three-layer").unwrap();
    let inputs = Inputs::fixture(&Preset { batch_size: 37, ..preset.clone() });
    let shuffled = data::Epoch::shuffled(37, 37, false, 1, 0);
    let batch = shuffled.batch(&inputs.set, 0);
    let mut x = vec![0.0; 37 * 784];
    batch.copy_x(&mut x);
    let copy = data::Dataset::from_rows(x, batch.labels().collect(), 784, 10).unwrap();
    let in_order = data::Epoch::in_order(37, 37, false);
    let [shuffled, in_order] = [batch, in_order.batch(&copy, 0)].map(|batch| {
        let mut level = Level1::new(&preset.network, Form::Fast);
        level.set_parameters(&inputs.parameters).unwrap();
        level.load(&batch, None).unwrap();
        level.step(0.1).unwrap();
        [TensorName::X, TensorName::W(1), TensorName::Dz(1)]
            .map(|name| level.tensor(name).unwrap().unwrap().into_data())
    });
    assert_eq!(shuffled, in_order);
}

/// NaN must show where the textbook form shows it: neither ReLU nor padding may hide or spread it.
#[test]
fn nan_is_preserved() {
    let preset = Preset::find("three-layer").unwrap();
    for layer in 0..preset.network.sizes.len() - 1 {
        let mut inputs = Inputs::fixture(&preset);
        inputs.parameters.layers[layer].w.data_mut()[5] = f32::NAN;
        inputs.parameters.layers[layer].b.data_mut()[2] = f32::INFINITY;
        let [textbook, fast] =
            [Form::Textbook, Form::Fast].map(|form| step_from(&preset, &inputs, form));
        for tensor in &fast.tensors {
            let same = textbook.tensors.iter().find(|other| other.name == tensor.name).unwrap();
            let nan = |data: &[f64]| data.iter().map(|x| x.is_nan()).collect::<Vec<_>>();
            assert_eq!(nan(&tensor.data), nan(&same.data), "{}, layer {layer}", tensor.name);
        }
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
