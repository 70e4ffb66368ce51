//! The speed of a level's training step.

use std::time::{Duration, Instant};

use data::Dataset;
use serde::Serialize;
use tensor::Network;

use crate::runner::{Runner, Terms};
use crate::train::{advance, epoch_order};
use crate::{Error, Parameters, Preset, Result};

/// Samples per second over several runs in one process.
#[derive(Clone, Debug, Serialize)]
pub struct Bench {
    /// The level.
    pub level: String,
    /// The device it ran on.
    pub device: String,
    /// How many copies of the level trained together; absent for a single level.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub world_size: Option<usize>,
    /// The preset.
    pub preset: String,
    /// Where the images come from.
    pub data: String,
    /// Counted runs, after one that warms up.
    pub runs: usize,
    /// Training steps in each run.
    pub steps: usize,
    /// The median of the runs.
    pub samples_per_second: f64,
    /// The slowest run.
    pub samples_per_second_min: f64,
    /// The fastest run.
    pub samples_per_second_max: f64,
    /// Arithmetic of the matrix products at the median rate, in 10⁹ operations a second.
    pub gflops: f64,
    /// What this device's own matrix product reaches on large square matrices, in the same unit: the
    /// median of as many measurements, each taken after one of the runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sgemm_gflops: Option<f64>,
    /// The loss of the last batch, so that it is seen that the work was done.
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

/// How a measurement is made.
#[derive(Clone, Copy, Debug)]
pub struct BenchPlan {
    /// Counted runs.
    pub runs: usize,
    /// Training steps in a run; `None` takes as many as fill half a second.
    pub steps: Option<usize>,
}

/// What was measured.
#[derive(Clone, Debug)]
pub struct Measured {
    /// Samples per second of each counted run, from the slowest to the fastest.
    pub rates: Vec<f64>,
    /// Training steps in each run.
    pub steps: usize,
    /// The loss of the last batch.
    pub last_loss: f32,
    /// The median of what was measured beside the runs, where there is such a yardstick.
    pub beside: Option<f64>,
}

/// A run of at least this many seconds is long enough to extrapolate the steps of half a second.
const LONG_ENOUGH: f64 = 0.25;

/// Measures training steps over preloaded data: load, forward, backward, update, batch after
/// batch, waiting for the device at the end of each run.
///
/// # Errors
/// What the level says, or that the loss is not finite in the end.
pub fn bench(
    runner: &mut dyn Runner,
    preset: &Preset,
    train: &Dataset,
    start: &Parameters,
    plan: BenchPlan,
    beside: &dyn Fn() -> Result<Option<f64>>,
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
            // Also the warm-up: doubles the steps until they take long enough to be measured.
            let mut steps = 16;
            loop {
                let (_, time, _) = run(runner, steps)?;
                // All copies of a level run the same number of steps, which the slowest copy's clock decides.
                let seconds = f64::from(runner.largest(time.as_secs_f32())?);
                if seconds >= LONG_ENOUGH {
                    break ((steps as f64 * 0.5 / seconds).ceil()) as usize;
                }
                steps *= 2;
            }
        }
    };
    let (mut rates, mut besides) = (Vec::new(), Vec::new());
    let mut last_loss = f32::NAN;
    for _ in 0..plan.runs {
        let (samples, time, loss) = run(runner, steps)?;
        rates.push(samples as f64 / time.as_secs_f64());
        last_loss = loss;
        besides.extend(beside()?);
    }
    if !last_loss.is_finite() {
        return Err(Error::level("the loss is not finite, so the speed means nothing"));
    }
    rates.sort_by(f64::total_cmp);
    besides.sort_by(f64::total_cmp);
    let beside = besides.get(besides.len() / 2).copied();
    Ok(Measured { rates, steps, last_loss, beside })
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
