//! The training loop, and the test of the trained network.

use std::ops::Range;
use std::time::Instant;

use data::{Batch, Dataset, Epoch};
use tensor::{Tensor, TensorName};

use crate::runner::{Runner, Terms};
use crate::{Console, Error, Level, Parameters, Preset, Result};

mod outcome;
mod watch;

pub use outcome::{
    Accuracy, AccuracyAt, Examination, LossAt, Mistake, Outcome, Phases, StopReason, TimeAt,
};
use watch::RunMonitor;

/// The number of mistakes that an examination lists.
pub const MISTAKES: usize = 40;

/// The order of a preset's samples in an epoch, counted from 0.
#[must_use]
pub fn epoch_order(preset: &Preset, samples: usize, epoch: usize) -> Epoch {
    if preset.shuffle {
        let (seed, epoch) = (preset.seed, epoch as u64);
        Epoch::shuffled(samples, preset.batch_size, preset.drop_last, seed, epoch)
    } else {
        Epoch::in_order(samples, preset.batch_size, preset.drop_last)
    }
}

/// Trains a level with a preset's settings, from the parameters `start`, then tests it.
///
/// The clock runs while batches are loaded and trained. It stops while the level is tested and while its parameters are
/// checked for values that are not finite.
///
/// # Errors
/// If the samples don't fill a batch, the level fails, or a loss or a parameter is not finite. In that case, the error
/// names the first batch and tensor that are not finite.
pub fn train(
    runner: &mut dyn Runner,
    preset: &Preset,
    train: &Dataset,
    test: &Dataset,
    start: &Parameters,
    console: &mut Console,
) -> Result<Outcome> {
    let per_epoch = epoch_order(preset, train.len(), 0).batches();
    if per_epoch == 0 {
        return Err(Error::Usage(format!(
            "{} training images do not fill one batch of {}, and --drop-last skips a batch that is not \
             full: use a smaller --batch-size or --drop-last false",
            train.len(),
            preset.batch_size
        )));
    }
    let planned =
        preset.epochs.saturating_mul(per_epoch).min(preset.max_batches.unwrap_or(usize::MAX));
    runner.check_terms(&Terms { command: "train", steps: None, preset, set: train, start })?;
    runner.level().dataset(train)?;
    runner.level().set_parameters(start)?;

    let mut watch = RunMonitor::new(preset, train, test, planned, start, console);
    // ANCHOR: loop
    'training: for epoch in 0..preset.epochs {
        let order = epoch_order(preset, train.len(), epoch);
        let batches = order.all(train);
        let mut k = 0;
        while k < batches.len() {
            let together = at_once(runner).min(watch.until_report()).min(batches.len() - k);
            let now = &batches[k..k + together];
            k += together;
            match runner.multi_step().filter(|_| together > 1) {
                None => {
                    watch.load(|| runner.level().load(&now[0], batches.get(k)))?;
                    watch.step(|| runner.level().step(preset.learning_rate))?;
                }
                Some(level) => watch.step(|| level.steps(now, preset.learning_rate))?,
            }
            if watch.stops_after(now, runner)? {
                break 'training;
            }
        }
    }
    // ANCHOR_END: loop
    watch.finish(runner)
}

/// The maximum number of batches that the level trains on in one call.
pub(crate) fn at_once(runner: &mut dyn Runner) -> usize {
    runner.multi_step().map_or(1, |level| level.at_once())
}

/// Trains on the range `k` of an epoch's batches, as [`train`] does between two reports. Each call of the level gets as
/// many batches as the level accepts in one call.
///
/// # Errors
/// If the device reports an error.
pub fn advance(
    runner: &mut dyn Runner,
    order: &Epoch,
    set: &Dataset,
    k: Range<usize>,
    learning_rate: f32,
) -> Result<()> {
    let Range { start: mut k, end } = k;
    while k < end {
        let together = at_once(runner).min(end - k);
        let now: Vec<_> = (k..k + together).map(|k| order.batch(set, k)).collect();
        k += together;
        match runner.multi_step().filter(|_| together > 1) {
            None => {
                let next = (k < end).then(|| order.batch(set, k));
                runner.level().load(&now[0], next.as_ref())?;
                runner.level().step(learning_rate)?;
            }
            Some(level) => level.steps(&now, learning_rate)?,
        }
    }
    Ok(())
}

/// Calls `work`, and adds its duration to `seconds`.
fn timed<T>(seconds: &mut f64, work: impl FnOnce() -> T) -> T {
    let clock = Instant::now();
    let done = work();
    *seconds += clock.elapsed().as_secs_f64();
    done
}

/// The current parameters of a level.
///
/// # Errors
/// If the level fails, or returns no tensor for a parameter.
pub fn parameters(level: &mut dyn Level, network: &tensor::Network) -> Result<Parameters> {
    Parameters::collect(network, |name| {
        level
            .tensor(name)?
            .ok_or_else(|| Error::level(format!("the level returns no tensor {name}")))
    })
}

/// Tests the level on a set, in batches of the preset's size. As in training, `drop_last` skips a last batch that is
/// not full.
///
/// # Errors
/// If the level fails, or an output is not finite.
pub fn evaluate(level: &mut dyn Level, preset: &Preset, set: &Dataset) -> Result<Accuracy> {
    Ok(examine(level, preset, set)?.accuracy)
}

/// As [`evaluate`], with the confusion matrix and the worst mistakes.
///
/// # Errors
/// As [`evaluate`].
pub fn examine(level: &mut dyn Level, preset: &Preset, set: &Dataset) -> Result<Examination> {
    // A set smaller than one batch is still tested.
    let drop_last = preset.drop_last && set.len() >= preset.batch_size;
    let order = Epoch::in_order(set.len(), preset.batch_size, drop_last);
    let classes = preset.network.outputs();
    let mut accuracy = Accuracy::default();
    let mut confusion = vec![vec![0; classes]; classes];
    let mut mistakes = Vec::new();
    // ANCHOR: examine
    for k in 0..order.batches() {
        let batch = order.batch(set, k);
        let p = output(level, &batch)?;
        for (row, label) in p.data().chunks_exact(classes).zip(batch.labels()) {
            let (predicted, right) = (largest(row), usize::from(label));
            if predicted == label {
                accuracy.correct += 1;
            } else {
                let margin = row[usize::from(predicted)] - row[right];
                mistakes.push(Mistake { image: accuracy.total, label, predicted, margin });
            }
            accuracy.total += 1;
            confusion[right][usize::from(predicted)] += 1;
        }
    }
    // ANCHOR_END: examine
    mistakes.sort_by(|a, b| b.margin.total_cmp(&a.margin).then(a.image.cmp(&b.image)));
    mistakes.truncate(MISTAKES);
    Ok(Examination { accuracy, confusion, mistakes })
}

/// For each sample of a batch, the class with the largest output; on a tie, the lowest such class.
///
/// # Errors
/// As [`evaluate`].
pub fn predict(level: &mut dyn Level, batch: &Batch<'_>) -> Result<Vec<u8>> {
    let p = output(level, batch)?;
    let classes = p.shape()[1];
    Ok(p.data().chunks_exact(classes).map(largest).collect())
}

// ANCHOR: output
/// The level's output for a batch, `[B, classes]`. All values are finite.
fn output(level: &mut dyn Level, batch: &Batch<'_>) -> Result<Tensor> {
    level.load(batch, None)?;
    level.forward()?;
    let p = level
        .tensor(TensorName::P)?
        .ok_or_else(|| Error::level("the level returns no tensor p"))?;
    if p.first_non_finite().is_some() {
        return Err(Error::level("the output p has values that are not finite: no prediction"));
    }
    Ok(p)
}
// ANCHOR_END: output

// ANCHOR: largest
/// The index of the largest value; on a tie, the lowest such index.
fn largest(row: &[f32]) -> u8 {
    let mut best = 0;
    for (class, value) in row.iter().enumerate() {
        if *value > row[best] {
            best = class;
        }
    }
    best as u8
}
// ANCHOR_END: largest

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_output_wins_and_the_first_on_a_tie() {
        assert_eq!(largest(&[0.1, 0.7, 0.7, 0.2]), 1);
        assert_eq!(largest(&[-3.0, -2.0, -5.0]), 1);
    }
}
