//! The report of a training run, as `--json` writes it.

use std::io;
use std::path::Path;

use data::Digits;
use host::file;
use serde::Serialize;

use crate::train::{Accuracy, AccuracyAt, LossAt, Mistake, Outcome, Phases, StopReason, TimeAt};
use crate::{Error, Initialisation, Preset, Result};

/// The report of a training run.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// The name of the level, such as `level1-cpu`.
    pub level: String,
    /// The device.
    pub device: String,
    /// The number of copies of the level that trained together; absent for a single level.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub world_size: Option<usize>,
    /// The preset's name.
    pub preset: String,
    /// Whether no part of the preset was overridden, except the seed.
    pub preset_unchanged: bool,
    /// The layer sizes, input first.
    pub sizes: Vec<usize>,
    /// The loss.
    pub loss: tensor::Loss,
    /// The source of the images.
    pub data: String,
    /// The pixel normalisation.
    pub normalisation: String,
    /// The distribution of the initial parameters.
    pub initialisation: Initialisation,
    /// The seed.
    pub seed: u64,
    /// The number of samples in a batch.
    pub batch_size: usize,
    /// Learning rate.
    pub learning_rate: f32,
    /// Batches trained.
    pub batches: usize,
    /// The number of samples trained, over all epochs.
    pub samples: usize,
    /// The time spent in training steps, without testing, in seconds.
    pub seconds: f64,
    /// `samples / seconds`.
    pub samples_per_second: f64,
    /// The reported losses.
    pub losses: Vec<LossAt>,
    /// The test accuracies, the final one last.
    pub accuracies: Vec<AccuracyAt>,
    /// The final test accuracy as a fraction.
    pub test_accuracy: f64,
    /// The final test accuracy as a number of correct images and of all images.
    pub tested: Accuracy,
    /// Why training ended.
    pub stop_reason: StopReason,
    /// The training time at each report and test.
    pub times: Vec<TimeAt>,
    /// The time of each phase, in seconds.
    pub phases: Phases,
    /// The confusion matrix: element `[label][predicted]` is a number of test images.
    pub confusion: Vec<Vec<usize>>,
    /// The misclassified test images with the largest margins.
    pub mistakes: Vec<Mistake>,
}

impl Report {
    /// The report of a run.
    #[must_use]
    pub fn new(level: &str, device: &str, preset: &Preset, digits: &Digits, run: &Outcome) -> Self {
        let seconds = run.training_time.as_secs_f64();
        Self {
            level: level.into(),
            device: device.into(),
            world_size: None,
            preset: preset.name.clone(),
            preset_unchanged: Preset::find(&preset.name).is_some_and(|original| {
                original == Preset { seed: original.seed, ..preset.clone() }
            }),
            sizes: preset.network.sizes.clone(),
            loss: preset.network.loss,
            data: digits.origin.to_string(),
            normalisation: preset.normalisation.to_string(),
            initialisation: preset.initialisation,
            seed: preset.seed,
            batch_size: preset.batch_size,
            learning_rate: preset.learning_rate,
            batches: run.batches,
            samples: run.samples,
            seconds,
            samples_per_second: run.samples as f64 / seconds,
            losses: run.losses.clone(),
            accuracies: run.accuracies.clone(),
            test_accuracy: run.accuracy.fraction(),
            tested: run.accuracy,
            stop_reason: run.stop_reason,
            times: run.times.clone(),
            phases: run.phases,
            confusion: run.examination.confusion.clone(),
            mistakes: run.examination.mistakes.clone(),
        }
    }
}

/// Writes a value as indented JSON. After a failure, there is no partial file.
///
/// # Errors
/// [`Error::Write`] if the value can't be represented in JSON, or the file can't be written.
pub fn write_json(path: &Path, value: &impl Serialize) -> Result<()> {
    let json = serde_json::to_string_pretty(value);
    let json = json.map_err(|error| Error::Write { path: path.into(), source: error.into() })?;
    write_file(path, json + "\n")
}

/// Writes a file. After a failure, there is no partial file.
///
/// # Errors
/// [`Error::Write`] if the file can't be written.
pub fn write_file(path: &Path, content: impl AsRef<[u8]>) -> Result<()> {
    file::write_atomically(path, |writer| writer.write_all(content.as_ref()))
        .map_err(|source: io::Error| Error::Write { path: path.into(), source })
}
