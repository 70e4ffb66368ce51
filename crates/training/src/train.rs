//! The one training loop, and the test of what was learned.

use std::time::{Duration, Instant};

use data::{Batch, Dataset, Epoch};
use serde::Serialize;
use tensor::TensorName;

use crate::{Console, Error, Level, Parameters, Preset, Result, divergence};

/// The loss of one batch, before its update.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct LossAt {
    /// The batch, counted from 0 over all epochs.
    pub batch: usize,
    /// The loss, as the preset prints it.
    pub loss: f32,
}

/// How many of the test images were recognised.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Accuracy {
    /// Images whose largest output is that of their label.
    pub correct: usize,
    /// Images tested.
    pub total: usize,
}

impl Accuracy {
    /// `correct / total`, between 0 and 1.
    #[must_use]
    pub fn fraction(self) -> f64 {
        self.correct as f64 / self.total as f64
    }
}

/// The test accuracy after a number of batches.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct AccuracyAt {
    /// The number of batches trained so far.
    pub batches: usize,
    /// The fraction of the test images that was recognised.
    pub accuracy: f64,
}

/// Why training ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum StopReason {
    /// All epochs are done.
    Epochs,
    /// The preset's number of batches is done.
    MaxBatches,
    /// The test accuracy passed the preset's mark.
    Accuracy,
    /// A signal asked for it, such as Ctrl-C.
    Interrupted,
}

/// What a training run came to.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Losses, at every batch that reports and at the last one.
    pub losses: Vec<LossAt>,
    /// Test accuracies, the final one last.
    pub accuracies: Vec<AccuracyAt>,
    /// The final test accuracy.
    pub accuracy: Accuracy,
    /// Batches trained.
    pub batches: usize,
    /// Samples trained, over all epochs.
    pub samples: usize,
    /// Time spent in training steps, without testing.
    pub training_time: Duration,
    /// Why training ended.
    pub stop_reason: StopReason,
    /// The trained parameters.
    pub parameters: Parameters,
}

/// The order in which a preset goes through `samples` samples in an epoch, counted from 0.
#[must_use]
pub fn epoch_order(preset: &Preset, samples: usize, epoch: usize) -> Epoch {
    if preset.shuffle {
        let (seed, epoch) = (preset.seed, epoch as u64);
        Epoch::shuffled(samples, preset.batch_size, preset.drop_last, seed, epoch)
    } else {
        Epoch::in_order(samples, preset.batch_size, preset.drop_last)
    }
}

/// Trains a level from `start` as the preset says, then tests it.
///
/// The clock runs while batches are loaded and trained, and stands still while the level is
/// tested and while its parameters are looked at for values that are not finite.
///
/// # Errors
/// When no full batch can be made, when the level fails, and when a loss or a parameter is no
/// longer finite: then with the batch and the tensor in which that was first so.
pub fn train(
    level: &mut dyn Level,
    preset: &Preset,
    train: &Dataset,
    test: &Dataset,
    start: &Parameters,
    console: &mut Console,
) -> Result<Outcome> {
    let per_epoch = epoch_order(preset, train.len(), 0).batches();
    if per_epoch == 0 {
        return Err(Error::Usage(format!(
            "{} training images do not fill one batch of {}, and a last batch that is not full is \
             left out: use a smaller --batch-size or --drop-last false",
            train.len(),
            preset.batch_size
        )));
    }
    let planned =
        preset.epochs.saturating_mul(per_epoch).min(preset.max_batches.unwrap_or(usize::MAX));
    level.dataset(train)?;
    level.set_parameters(start)?;

    let mut run = Outcome {
        losses: Vec::new(),
        accuracies: Vec::new(),
        accuracy: Accuracy { correct: 0, total: 0 },
        batches: 0,
        samples: 0,
        training_time: Duration::ZERO,
        stop_reason: StopReason::Epochs,
        parameters: start.clone(),
    };
    // The number of the first batch that `run.parameters` have not seen.
    let mut saved_at = 0;
    let progress = console.progress(planned);
    let mut clock = Instant::now();
    'epochs: for epoch in 0..preset.epochs {
        let order = epoch_order(preset, train.len(), epoch);
        for k in 0..per_epoch {
            let batch = order.batch(train, k);
            let next = (k + 1 < per_epoch).then(|| order.batch(train, k + 1));
            level.load(&batch, next.as_ref())?;
            level.step(preset.learning_rate)?;
            let index = run.batches;
            run.batches += 1;
            run.samples += batch.len();
            progress.inc(1);

            let done = run.batches == planned;
            let interrupted = console.interrupted();
            let report = index.is_multiple_of(preset.report_every) || done || interrupted;
            let test_now = !done
                && !interrupted
                && preset.evaluate_every.is_some_and(|every| run.batches.is_multiple_of(every));
            if report || test_now {
                // Waits for the device, so that its work is counted as training.
                let loss = level.loss()?;
                run.training_time += clock.elapsed();
                let since =
                    divergence::Since { parameters: &run.parameters, first: saved_at, last: index };
                run.parameters = divergence::check(level, preset, train, loss, since)?;
                saved_at = run.batches;
                if report {
                    run.losses.push(LossAt { batch: index, loss });
                    console.loss(index, loss)?;
                }
                if test_now {
                    let accuracy = evaluate(level, preset, test)?;
                    let fraction = accuracy.fraction();
                    run.accuracies.push(AccuracyAt { batches: run.batches, accuracy: fraction });
                    console.accuracy(run.batches, accuracy)?;
                    if preset.stop_at_accuracy.is_some_and(|mark| fraction > mark) {
                        run.stop_reason = StopReason::Accuracy;
                        break 'epochs;
                    }
                }
                clock = Instant::now();
            }
            if interrupted {
                run.stop_reason = StopReason::Interrupted;
                break 'epochs;
            }
            if done {
                if preset.max_batches == Some(run.batches) {
                    run.stop_reason = StopReason::MaxBatches;
                }
                break 'epochs;
            }
        }
    }
    progress.finish_and_clear();

    run.accuracy = evaluate(level, preset, test)?;
    let accuracy = run.accuracy.fraction();
    if run.accuracies.last().is_none_or(|last| last.batches != run.batches) {
        run.accuracies.push(AccuracyAt { batches: run.batches, accuracy });
    }
    Ok(run)
}

/// The parameters of a level as they now stand.
///
/// # Errors
/// What the level says, or that it does not show its parameters.
pub fn parameters(level: &mut dyn Level, network: &tensor::Network) -> Result<Parameters> {
    Parameters::collect(network, |name| {
        level
            .tensor(name)?
            .ok_or_else(|| Error::level(format!("the level does not show its {name}")))
    })
}

/// Tests the level on a set, in batches of the preset's size; with `drop_last`, a last batch that
/// is not full is left out here too.
///
/// # Errors
/// What the level says, or that an output is not finite.
pub fn evaluate(level: &mut dyn Level, preset: &Preset, set: &Dataset) -> Result<Accuracy> {
    // A set smaller than one batch is still tested.
    let drop_last = preset.drop_last && set.len() >= preset.batch_size;
    let order = Epoch::in_order(set.len(), preset.batch_size, drop_last);
    let mut accuracy = Accuracy { correct: 0, total: 0 };
    for k in 0..order.batches() {
        let batch = order.batch(set, k);
        let predictions = predict(level, &batch)?;
        accuracy.correct +=
            predictions.iter().zip(batch.labels()).filter(|(p, label)| **p == *label).count();
        accuracy.total += batch.len();
    }
    Ok(accuracy)
}

/// The class with the largest output for each sample of a batch; the lowest one on a tie.
///
/// # Errors
/// What the level says, or that an output is not finite.
pub fn predict(level: &mut dyn Level, batch: &Batch<'_>) -> Result<Vec<u8>> {
    level.load(batch, None)?;
    level.forward()?;
    let p = level
        .tensor(TensorName::P)?
        .ok_or_else(|| Error::level("the level does not show its output p"))?;
    if p.first_non_finite().is_some() {
        return Err(Error::level(
            "the output p holds values that are not finite, so nothing can be predicted from it",
        ));
    }
    let classes = p.shape()[1];
    Ok(p.data().chunks_exact(classes).map(largest).collect())
}

/// The index of the largest value, the lowest one on a tie.
fn largest(row: &[f32]) -> u8 {
    let mut best = 0;
    for (class, value) in row.iter().enumerate() {
        if *value > row[best] {
            best = class;
        }
    }
    best as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_output_wins_and_the_first_on_a_tie() {
        assert_eq!(largest(&[0.1, 0.7, 0.7, 0.2]), 1);
        assert_eq!(largest(&[-3.0, -2.0, -5.0]), 1);
    }
}
