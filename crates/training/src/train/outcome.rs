//! What a training run came to.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::Parameters;

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

/// How long the training of a number of batches had taken.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct TimeAt {
    /// The number of batches trained so far.
    pub batches: usize,
    /// Seconds spent in training steps, without testing.
    pub seconds: f64,
}

/// Where the time of a run went, in seconds, as the loop sees it: work that a device is only given
/// is waited for later.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Phases {
    /// Batches brought to where they are computed on.
    pub load: f64,
    /// Steps, or giving them to the device.
    pub step: f64,
    /// Waiting for the device, when a loss is asked for.
    pub wait: f64,
    /// Looking for parameters that are not finite; not counted as training.
    pub check: f64,
    /// Testing; not counted as training.
    pub test: f64,
}

/// A test image that was taken for another digit.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Mistake {
    /// Its index in the test set.
    pub image: usize,
    /// What it is.
    pub label: u8,
    /// What it was taken for.
    pub predicted: u8,
    /// By how much the wrong output was larger than the right one.
    pub margin: f32,
}

/// A test in detail.
#[derive(Clone, Debug, PartialEq)]
pub struct Examination {
    /// How many were recognised.
    pub accuracy: Accuracy,
    /// `[label][predicted]`: how many images.
    pub confusion: Vec<Vec<usize>>,
    /// The mistakes with the largest margins, the worst first.
    pub mistakes: Vec<Mistake>,
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
    /// The final test in detail.
    pub examination: Examination,
    /// When each loss was reported and each test made.
    pub times: Vec<TimeAt>,
    /// Where the time went.
    pub phases: Phases,
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
