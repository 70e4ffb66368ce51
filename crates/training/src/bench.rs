//! The benchmark of a level's training step.

use std::time::{Duration, Instant};

use data::Dataset;
use serde::Serialize;
use tensor::Network;

use crate::runner::{Runner, Terms};
use crate::train::{advance, epoch_order};
use crate::{Error, Parameters, Preset, Result};

/// The result of a benchmark: the rate in samples per second over several runs in one process.
#[derive(Clone, Debug, Serialize)]
pub struct Bench {
    /// The level.
    pub level: String,
    /// The device on which the level ran.
    pub device: String,
    /// The number of copies of the level that trained together; absent for a single level.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub world_size: Option<usize>,
    /// The preset.
    pub preset: String,
    /// The source of the images.
    pub data: String,
    /// The number of measured runs; a warm-up precedes them.
    pub runs: usize,
    /// The number of training steps in each run.
    pub steps: usize,
    /// The median of the runs' rates.
    pub samples_per_second: f64,
    /// The slowest run.
    pub samples_per_second_min: f64,
    /// The fastest run.
    pub samples_per_second_max: f64,
    /// The arithmetic rate of the matrix products at the median speed, in GFLOP/s.
    pub gflops: f64,
    /// The speed of this device's own matrix product on large square matrices, in GFLOP/s: the
    /// median of one measurement after each run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sgemm_gflops: Option<f64>,
    /// The loss of the last batch, as evidence that the work was done.
    pub last_loss: f32,
}

/// Floating-point operations of the matrix products of a training step, per sample: a
/// multiplication and an addition for each weight in the forward product, the same again for
/// `dw`, and, except in the first layer, for `da`.
#[must_use]
pub fn operations_per_sample(network: &Network) -> usize {
    let products = network.sizes.windows(2).map(|n| n[0] * n[1]);
    products.enumerate().map(|(l, weights)| 2 * weights * if l == 0 { 2 } else { 3 }).sum()
}

/// The number and length of the runs.
#[derive(Clone, Copy, Debug)]
pub struct BenchPlan {
    /// Measured runs.
    pub runs: usize,
    /// The number of training steps in a run; `None` for the number that fills half a second.
    pub steps: Option<usize>,
}

/// The measurements.
#[derive(Clone, Debug)]
pub struct Measured {
    /// The rate of each measured run in samples per second, from the slowest to the fastest.
    pub rates: Vec<f64>,
    /// The number of training steps in each run.
    pub steps: usize,
    /// The loss of the last batch.
    pub last_loss: f32,
    /// The median of the baseline's measurements; `None` without a baseline.
    pub baseline: Option<f64>,
}

/// The minimum duration, in seconds, of a run from which the number of steps for half a second can be extrapolated.
const LONG_ENOUGH: f64 = 0.25;

/// Measures training steps over preloaded data: load, forward, backward, update, batch after
/// batch, waiting for the device at the end of each run. After each run, `baseline` is measured.
///
/// # Errors
/// If the level fails, the samples do not fill a batch, or the final loss is not finite.
pub fn bench(
    runner: &mut dyn Runner,
    preset: &Preset,
    train: &Dataset,
    start: &Parameters,
    plan: BenchPlan,
    baseline: &dyn Fn() -> Result<Option<f64>>,
) -> Result<Measured> {
    runner.check_terms(&Terms { command: "bench", steps: None, preset, set: train, start })?;
    let mut position = 0;
    let mut run = |runner: &mut dyn Runner, steps: usize| -> Result<(usize, Duration, f32)> {
        let per_epoch = epoch_order(preset, train.len(), 0).batches();
        if per_epoch == 0 {
            return Err(Error::Usage("the samples do not fill one batch".into()));
        }
        let mut samples = 0;
        let clock = Instant::now();
        let mut done = 0;
        while done < steps {
            let order = epoch_order(preset, train.len(), position / per_epoch);
            let first = position % per_epoch;
            let end = per_epoch.min(first + steps - done);
            advance(runner, &order, train, first..end, preset.learning_rate)?;
            samples += (first..end).map(|k| order.batch(train, k).len()).sum::<usize>();
            position += end - first;
            done += end - first;
        }
        let loss = runner.level().loss()?;
        Ok((samples, clock.elapsed(), loss))
    };
    runner.level().dataset(train)?;
    runner.level().set_parameters(start)?;
    let steps = match plan.steps {
        Some(steps) => {
            run(runner, steps)?;
            steps
        }
        None => {
            // The warm-up: doubles the steps until they take long enough to be measured.
            let mut steps = 16;
            loop {
                let (_, time, _) = run(runner, steps)?;
                // All copies of a level run the same number of steps, which is determined by the slowest copy's time.
                let seconds = f64::from(runner.largest(time.as_secs_f32())?);
                if seconds >= LONG_ENOUGH {
                    break ((steps as f64 * 0.5 / seconds).ceil()) as usize;
                }
                steps *= 2;
            }
        }
    };
    let (mut rates, mut baselines) = (Vec::new(), Vec::new());
    let mut last_loss = f32::NAN;
    for _ in 0..plan.runs {
        let (samples, time, loss) = run(runner, steps)?;
        rates.push(samples as f64 / time.as_secs_f64());
        last_loss = loss;
        baselines.extend(baseline()?);
    }
    if !last_loss.is_finite() {
        return Err(Error::level("the loss is not finite, so the speed is meaningless"));
    }
    rates.sort_by(f64::total_cmp);
    baselines.sort_by(f64::total_cmp);
    let baseline = baselines.get(baselines.len() / 2).copied();
    Ok(Measured { rates, steps, last_loss, baseline })
}

#[cfg(test)]
mod tests {
    use tensor::Loss;

    use super::*;

    #[test]
    fn operations_are_counted_from_the_products() {
        let network = Network { sizes: vec![784, 30, 10], loss: Loss::Bce };
        assert_eq!(operations_per_sample(&network), 4 * 784 * 30 + 6 * 30 * 10);
    }
}
