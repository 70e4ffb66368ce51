//! The outcome of a training run.

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

/// The number of test images that were recognised.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
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
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct AccuracyAt {
    /// The number of batches trained so far.
    pub batches: usize,
    /// The fraction of the test images that was recognised.
    pub accuracy: f64,
}

/// The training time of the first `batches` batches.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct TimeAt {
    /// The number of batches trained so far.
    pub batches: usize,
    /// Seconds spent in training steps, without testing.
    pub seconds: f64,
}

/// The time that each phase of a run took on the host, in seconds. A step on a GPU only enqueues work; the host
/// waits for it later.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Phases {
    /// Loading batches onto the device.
    pub load: f64,
    /// Computing steps, or enqueuing them on the device.
    pub step: f64,
    /// Waiting for the device when the loss is read.
    pub wait: f64,
    /// Checking whether the parameters are finite; not counted as training.
    pub check: f64,
    /// Testing; not counted as training.
    pub test: f64,
}

/// A misclassified test image.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Mistake {
    /// Its index in the test set.
    pub image: usize,
    /// The digit that it shows.
    pub label: u8,
    /// The digit that was predicted.
    pub predicted: u8,
    /// The difference between the predicted digit's output and the right one's.
    pub margin: f32,
}

/// The details of a test.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Examination {
    /// The accuracy.
    pub accuracy: Accuracy,
    /// The confusion matrix, `[label][predicted]`: the number of images.
    pub confusion: Vec<Vec<usize>>,
    /// The mistakes with the largest margins, the worst first.
    pub mistakes: Vec<Mistake>,
}

/// Why training ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum StopReason {
    /// All epochs are done.
    #[default]
    Epochs,
    /// The preset's maximum number of batches is done.
    MaxBatches,
    /// The test accuracy exceeded the preset's threshold.
    Accuracy,
    /// A signal, such as Ctrl-C.
    Interrupted,
}

/// The outcome of a training run.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// The losses of the batches that were reported, and of the last one.
    pub losses: Vec<LossAt>,
    /// Test accuracies, the final one last.
    pub accuracies: Vec<AccuracyAt>,
    /// The final test accuracy.
    pub accuracy: Accuracy,
    /// The final test in detail.
    pub examination: Examination,
    /// The training time at each report and test.
    pub times: Vec<TimeAt>,
    /// The time of each phase.
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
