//! Tests of training: all transfers, with launches and with graphs, give the same bits on batches in order and on
//! shuffled ones, and the default preset reaches level 1's accuracy.

use std::path::Path;

use crate::support::{GEMMS, level3};
use data::{Counts, Dataset, Source};
use gpu::transfer::Strategy;
use level1_cpu::{Form, Level1};
use level3_cublas::Setup;
use test_support::gpu;
use test_support::short_run::{self, run, same_bits};
use training::train::train;
use training::{Console, Level, Parameters, Preset, Single};

#[test]
fn transfers_and_graphs_train_to_the_same_bits() {
    let gpu = gpu();
    for (shuffle, gemm) in [(false, GEMMS[0]), (true, GEMMS[1]), (false, GEMMS[1])] {
        let preset = short_run::preset(shuffle);
        let setups = Strategy::ALL.into_iter().flat_map(|transfer| {
            [false, true].map(|graph| Setup { gemm, graph, transfer, ..Setup::default() })
        });
        // The first combination runs twice, so the first comparison shows that a run is reproducible.
        same_bits(
            [Setup { gemm, ..Setup::default() }].into_iter().chain(setups).map(|setup| {
                (format!("{setup:?}"), run(&mut level3(&gpu, &preset, setup), &preset))
            }),
        );
    }
    assert!(gpu.context().is_event_tracking(), "the caller's context is as it was");
}

/// The default preset reaches level 1's losses and accuracy: on the built-in digits, and also on MNIST
/// if `MNIST_DIR` is set.
#[test]
fn the_default_preset_learns_as_at_level_1() {
    let gpu = gpu();
    // MNIST_DIR may be relative to the workspace's root, but tests run in their crate's folder.
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mnist = std::env::var_os("MNIST_DIR").filter(|name| !name.is_empty());
    let mnist = mnist.map(|folder| root.join(folder));
    let sources = [(Source::Digits, None), (Source::Mnist, mnist.as_deref())];
    let preset = Preset::find("small").unwrap();
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
            let (runner, console) = (&mut Single(level), &mut Console::quiet());
            train(runner, &preset, &training, &test, &start, console).unwrap()
        };
        let expected = learn(&mut Level1::new(&preset.network, Form::Fast));
        for gemm in GEMMS {
            let found = learn(&mut level3(&gpu, &preset, Setup { gemm, ..Setup::default() }));
            assert_eq!(found.losses.len(), expected.losses.len());
            for (a, b) in expected.losses.iter().zip(&found.losses) {
                assert!((a.loss - b.loss).abs() < 1e-4, "{gemm:?}: {a:?} {b:?}");
            }
            // Rounding over 234 steps changes the prediction of a few images.
            let (a, b) = (expected.accuracy, found.accuracy);
            assert!(a.correct.abs_diff(b.correct) <= 10 && a.total == b.total, "{a:?} {b:?}");
            assert!(b.fraction() > 0.90, "{b:?}");
        }
    }
}
