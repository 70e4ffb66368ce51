//! The outcome of a training run.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::Parameters;

/// The loss of one batch, computed before the batch's update.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct LossAt {
    /// The batch, counted from 0 over all epochs.
    pub batch: usize,
    /// The loss, as it is printed.
    pub loss: f32,
}

/// A test accuracy, as the number of test images that were recognised.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Accuracy {
    /// The number of images whose largest output is their label's.
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
    /// The time spent in training steps, without testing, in seconds.
    pub seconds: f64,
}

/// The time that each phase of a run took on the host, in seconds. A step on a GPU only enqueues work; the host
/// waits for it later.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Phases {
    /// The time for loading batches onto the device.
    pub load: f64,
    /// The time for computing steps, or for enqueuing them on the device.
    pub step: f64,
    /// The time for waiting for the device when the loss is read.
    pub wait: f64,
    /// The time for checking whether the parameters are finite, which doesn't count as training.
    pub check: f64,
    /// The time for testing, which doesn't count as training.
    pub test: f64,
}

/// A misclassified test image.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Mistake {
    /// The image's index in the test set.
    pub image: usize,
    /// The digit that the image shows.
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
    /// The confusion matrix: element `[label][predicted]` is a number of images.
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
    /// A signal, such as Ctrl-C, ended training.
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
    /// The number of samples trained, over all epochs.
    pub samples: usize,
    /// The time spent in training steps, without testing.
    pub training_time: Duration,
    /// Why training ended.
    pub stop_reason: StopReason,
    /// The trained parameters.
    pub parameters: Parameters,
}
