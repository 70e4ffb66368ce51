//! The one training loop, and the test of what was learned.

use std::time::{Duration, Instant};

use data::{Batch, Dataset, Epoch};
use tensor::{Tensor, TensorName};

use crate::{Console, Error, Level, Parameters, Preset, Result, divergence, ranks};

mod outcome;

pub use outcome::{
    Accuracy, AccuracyAt, Examination, LossAt, Mistake, Outcome, Phases, StopReason, TimeAt,
};

/// Several ranks ask each other whether to stop once in this many batches: each answer waits for the
/// device.
const ASK_EVERY: usize = 8;

/// How many mistakes are kept.
pub const MISTAKES: usize = 40;

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
/// Of several ranks each trains on its share of every batch, and the first one tests.
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
    let place = level.place();
    if !place.is_alone() {
        level.agree(&ranks::terms("train", preset, train, start))?;
    }
    level.dataset(train)?;
    level.set_parameters(start)?;

    let mut run = Outcome {
        losses: Vec::new(),
        accuracies: Vec::new(),
        accuracy: NOTHING,
        examination: Examination { accuracy: NOTHING, confusion: Vec::new(), mistakes: Vec::new() },
        times: Vec::new(),
        phases: Phases::default(),
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
    // ANCHOR: loop
    'epochs: for epoch in 0..preset.epochs {
        let order = epoch_order(preset, train.len(), epoch);
        let mut k = 0;
        while k < per_epoch {
            let unasked = batches_unasked(preset, run.batches, planned);
            let together = level.at_once().min(unasked).min(per_epoch - k);
            let batches: Vec<_> = (k..k + together).map(|k| order.batch(train, k)).collect();
            k += together;
            if let [batch] = &batches[..] {
                let next = (k < per_epoch).then(|| place.share(&order.batch(train, k)));
                timed(&mut run.phases.load, || level.load(&place.share(batch), next.as_ref()))?;
                timed(&mut run.phases.step, || level.step(preset.learning_rate))?;
            } else {
                timed(&mut run.phases.step, || level.steps(&batches, preset.learning_rate))?;
            }
            run.batches += together;
            run.samples += batches.iter().map(Batch::len).sum::<usize>();
            progress.inc(together as u64);
            // ANCHOR_END: loop

            let index = run.batches - 1;
            let done = run.batches == planned;
            let interrupted = match place.is_alone() {
                true => console.interrupted(),
                // All ranks stop at the same batch.
                false => index.is_multiple_of(ASK_EVERY) && level.any(console.interrupted())?,
            };
            let report = index.is_multiple_of(preset.report_every) || done || interrupted;
            let test_now = !done
                && !interrupted
                && preset.evaluate_every.is_some_and(|every| run.batches.is_multiple_of(every));
            if report || test_now {
                // Waits for the device, so that its work is counted as training.
                let loss = timed(&mut run.phases.wait, || level.loss())?;
                run.training_time += clock.elapsed();
                let seconds = run.training_time.as_secs_f64();
                run.times.push(TimeAt { batches: run.batches, seconds });
                let since =
                    divergence::Since { parameters: &run.parameters, first: saved_at, last: index };
                run.parameters = timed(&mut run.phases.check, || {
                    divergence::check(level, preset, train, loss, since)
                })?;
                saved_at = run.batches;
                if report {
                    run.losses.push(LossAt { batch: index, loss });
                    console.loss(index, loss)?;
                }
                if test_now {
                    let mut fraction = 0.0;
                    if place.is_first() {
                        let accuracy =
                            timed(&mut run.phases.test, || evaluate(level, preset, test))?;
                        fraction = accuracy.fraction();
                        let batches = run.batches;
                        run.accuracies.push(AccuracyAt { batches, accuracy: fraction });
                        console.accuracy(batches, accuracy)?;
                    }
                    if let Some(mark) = preset.stop_at_accuracy
                        && level.any(fraction > mark)?
                    {
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

    if !place.is_first() {
        return Ok(run);
    }
    run.examination = timed(&mut run.phases.test, || examine(level, preset, test))?;
    run.accuracy = run.examination.accuracy;
    let accuracy = run.accuracy.fraction();
    if run.accuracies.last().is_none_or(|last| last.batches != run.batches) {
        run.accuracies.push(AccuracyAt { batches: run.batches, accuracy });
    }
    Ok(run)
}

/// How many batches there are until the next one whose loss is reported, after which the network is
/// tested, or which is the last; `done` are trained.
fn batches_unasked(preset: &Preset, done: usize, planned: usize) -> usize {
    // Losses are reported at batches whose number is a multiple, tests made after this many.
    let report = match preset.report_every {
        0 => usize::MAX,
        every => done.next_multiple_of(every) - done + 1,
    };
    let test = preset.evaluate_every.map_or(usize::MAX, |every| every - done % every.max(1));
    report.min(test).min(planned - done).max(1)
}

/// Before anything was tested.
const NOTHING: Accuracy = Accuracy { correct: 0, total: 0 };

/// Does something, and adds the seconds that it took.
fn timed<T>(seconds: &mut f64, work: impl FnOnce() -> T) -> T {
    let clock = Instant::now();
    let done = work();
    *seconds += clock.elapsed().as_secs_f64();
    done
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
    Ok(examine(level, preset, set)?.accuracy)
}

/// The same, and which digits were taken for which.
///
/// # Errors
/// What the level says, or that an output is not finite.
pub fn examine(level: &mut dyn Level, preset: &Preset, set: &Dataset) -> Result<Examination> {
    // A set smaller than one batch is still tested.
    let drop_last = preset.drop_last && set.len() >= preset.batch_size;
    let order = Epoch::in_order(set.len(), preset.batch_size, drop_last);
    let classes = preset.network.outputs();
    let mut accuracy = NOTHING;
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

/// The class with the largest output for each sample of a batch; the lowest one on a tie.
///
/// # Errors
/// What the level says, or that an output is not finite.
pub fn predict(level: &mut dyn Level, batch: &Batch<'_>) -> Result<Vec<u8>> {
    let p = output(level, batch)?;
    let classes = p.shape()[1];
    Ok(p.data().chunks_exact(classes).map(largest).collect())
}

// ANCHOR: output
/// What the level puts out for a batch: `[B, classes]`, all of it finite.
fn output(level: &mut dyn Level, batch: &Batch<'_>) -> Result<Tensor> {
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
    Ok(p)
}
// ANCHOR_END: output

// ANCHOR: largest
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
// ANCHOR_END: largest

#[cfg(test)]
mod tests;
