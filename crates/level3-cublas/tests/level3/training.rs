//! Training: together with level 1 over ten steps, and bit for bit the same however the batches get
//! to the device and whether the steps are launched or replayed. In order and shuffled, with a last
//! batch that is smaller, and with tests of another set in between.

use std::path::Path;

use crate::short_run::{self, run};
use crate::support::{GEMMS, gpu, level3};
use data::{Counts, Dataset, Epoch, Source};
use gpu::transfer::Strategy;
use level1_cpu::{Form, Level1};
use level3_cublas::Setup;
use tensor::Tensor;
use training::train::{Outcome, parameters, train};
use training::{Console, Level, Parameters, Preset};

#[test]
fn ten_steps_stay_together_with_level_1() {
    let gpu = gpu();
    let counts = Counts { train: 1000, test: 1 };
    let digits = data::load(Source::Digits, None, counts, &mut |_| {}).unwrap();
    for preset in Preset::presets() {
        // mnist-cuda's is manning's, four times as wide.
        if preset.name == "mnist-cuda" {
            continue;
        }
        let set = Dataset::new(&digits.train, preset.normalisation);
        let start = Parameters::new(&preset.network, preset.initialisation, preset.seed);
        let order = Epoch::in_order(set.len(), preset.batch_size.min(100), true);
        let ten = |level: &mut dyn Level| {
            level.dataset(&set).unwrap();
            level.set_parameters(&start).unwrap();
            let losses: Vec<f32> = (0..10)
                .map(|k| {
                    level.load(&order.batch(&set, k), None).unwrap();
                    level.step(preset.learning_rate).unwrap();
                    level.loss().unwrap()
                })
                .collect();
            (losses, parameters(level, &preset.network).unwrap())
        };
        let (losses, now) = ten(&mut Level1::new(&preset.network, Form::Textbook));
        for gemm in GEMMS {
            for graph in [false, true] {
                let setup = Setup { gemm, graph, ..Setup::default() };
                let (found_losses, found) = ten(&mut level3(&gpu, &preset, setup));
                // Roundings of ten steps; a step moves the parameters by a thousand times more.
                for (a, b) in losses.iter().zip(&found_losses) {
                    assert!((a - b).abs() < 1e-5, "{}, {setup:?}: {a} {b}", preset.name);
                }
                let moved = distance(&start, &now);
                let apart = distance(&now, &found);
                assert!(apart < 1e-5 && moved > 100.0 * apart, "{}: {moved} {apart}", preset.name);
            }
        }
    }
}

/// The largest distance of a parameter from another's; NaN counts as infinity.
fn distance(a: &Parameters, b: &Parameters) -> f32 {
    let of = |a: &Tensor, b: &Tensor| {
        let pairs = a.data().iter().zip(b.data());
        pairs.map(|(a, b)| (a - b).abs()).fold(0.0, |largest: f32, distance| {
            if distance <= largest {
                largest
            } else if distance.is_nan() {
                f32::INFINITY
            } else {
                distance
            }
        })
    };
    let layers = a.layers.iter().zip(&b.layers);
    layers.map(|(a, b)| of(&a.w, &b.w).max(of(&a.b, &b.b))).fold(0.0, f32::max)
}

fn bits(run: &Outcome) -> (Vec<u32>, Vec<usize>) {
    let losses = run.losses.iter().map(|at| at.loss.to_bits()).collect();
    (losses, vec![run.batches, run.samples, run.accuracy.correct])
}

#[test]
fn transfers_and_graphs_train_to_the_same_bits() {
    let gpu = gpu();
    for (shuffle, gemm) in [(false, GEMMS[0]), (true, GEMMS[1]), (false, GEMMS[1])] {
        let preset = short_run::preset(shuffle);
        let of = |setup| run(&mut level3(&gpu, &preset, setup), &preset);
        let expected = of(Setup { gemm, ..Setup::default() });
        assert_eq!((expected.batches, expected.samples), (15, 660));
        let (first, last) = (expected.losses[0].loss, expected.losses[14].loss);
        assert!(last < 0.8 * first, "it learns: {first} to {last}");
        for transfer in Strategy::ALL {
            for graph in [false, true] {
                let found = of(Setup { gemm, graph, transfer, ..Setup::default() });
                assert_eq!(bits(&found), bits(&expected), "{gemm}, {transfer}, graph: {graph}");
            }
        }
    }
    assert!(gpu.context().is_event_tracking(), "the caller's context is as it was");
}

/// The default preset learns what it learns at level 1: on the built-in digits always, and on MNIST
/// where `MNIST_DIR` names it.
#[test]
fn the_default_preset_learns_what_it_does_at_level_1() {
    let gpu = gpu();
    // Tests run in the folder of their crate; the variable is meant from the workspace's.
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mnist = std::env::var_os("MNIST_DIR").filter(|name| !name.is_empty());
    let mnist = mnist.map(|folder| root.join(folder));
    let sources = [(Source::Digits, None), (Source::Mnist, mnist.as_deref())];
    let preset = Preset::find("nvmath").unwrap();
    for (source, folder) in sources {
        if source == Source::Mnist && folder.is_none() {
            skipped::skip("MNIST_DIR does not say where MNIST is");
            continue;
        }
        let digits = data::load(source, folder, Counts::ALL, &mut |_| {}).unwrap();
        let set = |images| Dataset::new(images, preset.normalisation);
        let (training, test) = (set(&digits.train), set(&digits.test));
        let start = Parameters::new(&preset.network, preset.initialisation, preset.seed);
        let learn = |level: &mut dyn Level| {
            train(level, &preset, &training, &test, &start, &mut Console::quiet()).unwrap()
        };
        let expected = learn(&mut Level1::new(&preset.network, Form::Fast));
        for gemm in GEMMS {
            let found = learn(&mut level3(&gpu, &preset, Setup { gemm, ..Setup::default() }));
            assert_eq!(found.losses.len(), expected.losses.len());
            for (a, b) in expected.losses.iter().zip(&found.losses) {
                assert!((a.loss - b.loss).abs() < 1e-4, "{gemm}: {a:?} {b:?}");
            }
            // Rounding over 234 steps, and a few images that sit on the fence.
            let (a, b) = (expected.accuracy, found.accuracy);
            assert!(a.correct.abs_diff(b.correct) <= 10 && a.total == b.total, "{a:?} {b:?}");
            assert!(b.fraction() > 0.90, "{b:?}");
        }
    }
}
