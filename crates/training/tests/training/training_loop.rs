//! Tests of the training loop.

use data::Dataset;
use tensor::{Loss, Network, TensorName};
use training::train::{StopReason, train};
use training::{Console, Error, Preset, Result, Single};

use crate::fake::Fake;

/// A preset with 4 inputs, for 100 samples in batches of 8: 12 full batches and one of 4.
fn preset() -> Preset {
    let mut preset = Preset::find("deep").unwrap();
    preset.network = Network { sizes: vec![4, 3, 10], loss: Loss::CrossEntropy };
    preset.batch_size = 8;
    preset.report_every = 4;
    preset
}

fn samples(count: usize) -> Dataset {
    let labels = (0..count).map(|i| (i % 10) as u8).collect();
    Dataset::from_rows(vec![0.5; 4 * count], labels, 4, 10).unwrap()
}

fn run(fake: &mut Fake, preset: &Preset) -> Result<training::train::Outcome> {
    let start = fake.parameters.clone();
    let (runner, console) = (&mut Single(fake), &mut Console::quiet());
    train(runner, preset, &samples(100), &samples(30), &start, console)
}

#[test]
fn every_sample_is_trained_and_the_last_loss_reported() {
    let preset = preset();
    let mut fake = Fake::new(&preset);
    let run = run(&mut fake, &preset).unwrap();
    assert_eq!((run.batches, run.samples), (13, 100));
    assert_eq!(fake.sizes_of_batches[11..], [8, 4]);
    assert_eq!(run.losses.iter().map(|l| l.batch).collect::<Vec<_>>(), [0, 4, 8, 12]);
    assert_eq!((run.accuracy.correct, run.accuracy.total), (0, 30));
    assert_eq!(run.stop_reason, StopReason::Epochs);
}

#[test]
fn drop_last_skips_the_last_partial_batch() {
    let preset = Preset { drop_last: true, epochs: 2, ..preset() };
    let run = run(&mut Fake::new(&preset), &preset).unwrap();
    assert_eq!((run.batches, run.samples), (24, 192));
    assert_eq!(run.accuracy.total, 24, "testing leaves it out too");
}

#[test]
fn training_stops_at_the_accuracy_or_at_the_number_of_batches() {
    let mark = Preset {
        evaluate_every: Some(5),
        stop_at_accuracy: Some(0.6),
        epochs: 9,
        max_batches: Some(17),
        ..preset()
    };
    let mut fake = Fake { learns_after: 8, ..Fake::new(&mark) };
    let run_to_mark = run(&mut fake, &mark).unwrap();
    assert_eq!((run_to_mark.batches, run_to_mark.stop_reason), (10, StopReason::Accuracy));
    assert_eq!(run_to_mark.accuracies.iter().map(|a| a.batches).collect::<Vec<_>>(), [5, 10]);

    let run_to_limit = run(&mut Fake::new(&mark), &mark).unwrap();
    assert_eq!((run_to_limit.batches, run_to_limit.stop_reason), (17, StopReason::MaxBatches));
    assert_eq!(
        run_to_limit.accuracies.iter().map(|a| a.batches).collect::<Vec<_>>(),
        [5, 10, 15, 17]
    );
}

#[test]
fn the_first_tensor_that_is_not_finite_is_named_with_its_batch() {
    let preset = preset();
    let mut fake = Fake { breaks_at: 6, ..Fake::new(&preset) };
    match run(&mut fake, &preset).unwrap_err() {
        Error::NonFinite { batch, epoch, tensor, index, value, .. } => {
            assert_eq!((batch, epoch, tensor, index), (6, 1, TensorName::BNext(1), vec![1]));
            assert!(value.is_nan());
        }
        other => panic!("{other}"),
    }
}

#[test]
fn a_level_that_breaks_only_once_is_said_to() {
    let preset = preset();
    let mut fake = Fake { breaks_at: 6, breaks_only_fused: true, ..Fake::new(&preset) };
    let error = run(&mut fake, &preset).unwrap_err();
    let said = error.to_string();
    assert!(said.starts_with("training diverged between batches 5 and 8: b1 is"), "{said}");
    assert_eq!(error.exit_code(), 1);
}

#[test]
fn a_set_that_fills_no_batch_is_a_usage_error() {
    let preset = Preset { batch_size: 101, drop_last: true, ..preset() };
    let error = run(&mut Fake::new(&preset), &preset).unwrap_err();
    assert!(error.to_string().contains("100 training images do not fill one batch of 101"));
    assert_eq!(error.exit_code(), 2);
}
