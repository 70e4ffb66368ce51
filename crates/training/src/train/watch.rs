//! The tasks around the training loop: clocks, reports, tests, and the decision to stop.

use std::time::Instant;

use data::{Batch, Dataset};
use indicatif::ProgressBar;

use super::{AccuracyAt, LossAt, Outcome, StopReason, TimeAt, evaluate, examine, timed};
use crate::runner::Runner;
use crate::{Console, Parameters, Preset, Result, divergence};

/// Watches a run, and records its outcome.
pub(super) struct RunMonitor<'a> {
    preset: &'a Preset,
    train: &'a Dataset,
    test: &'a Dataset,
    /// The number of batches to train.
    planned: usize,
    console: &'a Console,
    progress: ProgressBar,
    /// The moment when training last started or continued after a test or a check.
    clock: Instant,
    /// The first batch after those on which `outcome.parameters` was trained.
    saved_at: usize,
    outcome: Outcome,
}

impl<'a> RunMonitor<'a> {
    /// Starts the clock.
    pub(super) fn new(
        preset: &'a Preset,
        train: &'a Dataset,
        test: &'a Dataset,
        planned: usize,
        start: &Parameters,
        console: &'a mut Console,
    ) -> Self {
        let outcome = Outcome { parameters: start.clone(), ..Outcome::default() };
        let progress = console.progress(planned);
        let clock = Instant::now();
        Self { preset, train, test, planned, console, progress, clock, saved_at: 0, outcome }
    }

    /// The number of batches up to the next one after which the loop reads from the level.
    pub(super) fn until_report(&self) -> usize {
        until_report(self.preset, self.outcome.batches, self.planned)
    }

    /// Loads a batch, and measures the time.
    pub(super) fn load(&mut self, load: impl FnOnce() -> Result<()>) -> Result<()> {
        timed(&mut self.outcome.phases.load, load)
    }

    /// Runs one or several steps, and measures the time.
    pub(super) fn step(&mut self, step: impl FnOnce() -> Result<()>) -> Result<()> {
        timed(&mut self.outcome.phases.step, step)
    }

    /// Counts the trained batches, reports and tests at the preset's intervals, and decides whether training stops.
    pub(super) fn stops_after(
        &mut self,
        batches: &[Batch<'_>],
        runner: &mut dyn Runner,
    ) -> Result<bool> {
        let (preset, outcome) = (self.preset, &mut self.outcome);
        outcome.batches += batches.len();
        outcome.samples += batches.iter().map(Batch::len).sum::<usize>();
        self.progress.inc(batches.len() as u64);

        let index = outcome.batches - 1;
        let done = outcome.batches == self.planned;
        let interrupted = runner.should_stop(index, self.console.interrupted())?;
        let report = index.is_multiple_of(preset.report_every) || done || interrupted;
        let test_now = !done
            && !interrupted
            && preset.evaluate_every.is_some_and(|every| outcome.batches.is_multiple_of(every));
        let mut passed = false;
        if report || test_now {
            // Reading the loss waits for the device, so the device's remaining work is counted as training.
            let loss = timed(&mut outcome.phases.wait, || runner.level().loss())?;
            outcome.training_time += self.clock.elapsed();
            let seconds = outcome.training_time.as_secs_f64();
            outcome.times.push(TimeAt { batches: outcome.batches, seconds });
            let (parameters, first) = (&outcome.parameters, self.saved_at);
            let since = divergence::FiniteParameters { parameters, first, last: index };
            outcome.parameters = timed(&mut outcome.phases.check, || {
                divergence::check(runner.level(), preset, self.train, loss, since)
            })?;
            self.saved_at = outcome.batches;
            if report {
                outcome.losses.push(LossAt { batch: index, loss });
                self.console.loss(index, loss)?;
            }
            passed = test_now && self.tests(runner)?;
            self.clock = Instant::now();
        }
        let reason = if passed {
            StopReason::Accuracy
        } else if interrupted {
            StopReason::Interrupted
        } else if done && preset.max_batches == Some(self.planned) {
            StopReason::MaxBatches
        } else {
            StopReason::Epochs
        };
        self.outcome.stop_reason = reason;
        Ok(passed || interrupted || done)
    }

    /// Tests between two steps. Returns whether the accuracy exceeds the preset's threshold.
    fn tests(&mut self, runner: &mut dyn Runner) -> Result<bool> {
        let (preset, outcome) = (self.preset, &mut self.outcome);
        let mut fraction = 0.0;
        if let Some(level) = runner.tester() {
            let accuracy = timed(&mut outcome.phases.test, || evaluate(level, preset, self.test))?;
            fraction = accuracy.fraction();
            let batches = outcome.batches;
            outcome.accuracies.push(AccuracyAt { batches, accuracy: fraction });
            self.console.accuracy(batches, accuracy)?;
        }
        let Some(threshold) = preset.stop_at_accuracy else { return Ok(false) };
        // Every copy stops after the same batch as the copy that tests.
        Ok(runner.largest(f32::from(u8::from(fraction > threshold)))? > 0.0)
    }

    /// Tests the trained network.
    pub(super) fn finish(self, runner: &mut dyn Runner) -> Result<Outcome> {
        self.progress.finish_and_clear();
        let mut outcome = self.outcome;
        let Some(level) = runner.tester() else { return Ok(outcome) };
        outcome.examination =
            timed(&mut outcome.phases.test, || examine(level, self.preset, self.test))?;
        outcome.accuracy = outcome.examination.accuracy;
        let (batches, accuracy) = (outcome.batches, outcome.accuracy.fraction());
        if outcome.accuracies.last().is_none_or(|last| last.batches != batches) {
            outcome.accuracies.push(AccuracyAt { batches, accuracy });
        }
        Ok(outcome)
    }
}

/// The number of batches up to and including the next batch that is reported, is followed by a test, or is the last.
/// `done` batches have already been trained.
fn until_report(preset: &Preset, done: usize, planned: usize) -> usize {
    // A loss is reported at each batch whose number is a multiple of `report_every`; a test follows after
    // each `evaluate_every` batches.
    let report = match preset.report_every {
        0 => usize::MAX,
        every => done.next_multiple_of(every) - done + 1,
    };
    let test = preset.evaluate_every.map_or(usize::MAX, |every| every - done % every.max(1));
    report.min(test).min(planned - done).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A batch ends a call of the level exactly if its loss is reported, a test follows it, or it is the last batch of
    /// the run.
    #[test]
    fn calls_with_several_batches_end_at_reports_and_tests() {
        let mut preset = Preset::find("small").unwrap();
        for (report, test, planned) in
            [(20, None, 234), (1, None, 9), (7, Some(4), 60), (100, Some(1), 5)]
        {
            preset.report_every = report;
            preset.evaluate_every = test;
            let mut ends = Vec::new();
            let mut done = 0;
            while done < planned {
                done += until_report(&preset, done, planned);
                ends.push(done);
            }
            let expected: Vec<usize> = (1..=planned)
                .filter(|&done| {
                    let reported = (done - 1).is_multiple_of(report);
                    reported
                        || test.is_some_and(|every| done.is_multiple_of(every))
                        || done == planned
                })
                .collect();
            assert_eq!(ends, expected);
        }
    }
}
