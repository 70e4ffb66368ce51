//! The presets, which are the networks of the texts that this project is based on, and the fixtures, which are small
//! networks for tests.

use data::Normalisation;
use serde::Serialize;
use tensor::{Loss, Network};

use crate::Edge;

/// The random distribution from which initial parameters are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Initialisation {
    /// Weights and biases uniform in ±1/√fan_in, as PyTorch's `Linear`.
    UniformFanIn,
    /// Weights uniform in ±√(2/fan_in), biases 0.
    KaimingUniform,
    /// Weights and biases 0.01·N(0, 1).
    SmallNormal,
}

data::written_by_name!(
    Initialisation,
    "way to initialise parameters",
    UniformFanIn: "uniform-fan-in",
    KaimingUniform: "kaiming-uniform",
    SmallNormal: "small-normal",
);

/// Whether a preset is for training or for dumps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum PresetKind {
    /// A preset for training on digits.
    Preset,
    /// A fixture for `dump` on a batch of random inputs, with small and odd sizes. Its reference dump is committed.
    Fixture,
}

/// All settings of a training run. Each can be overridden on the command line.
#[derive(Clone, Debug, PartialEq)]
pub struct Preset {
    /// The name, also in dumps and reports.
    pub name: String,
    /// A preset to train, or a fixture to dump.
    pub kind: PresetKind,
    /// The layer sizes and the loss.
    pub network: Network,
    /// The number of samples in a batch, `B`.
    pub batch_size: usize,
    /// Learning rate of plain SGD.
    pub learning_rate: f32,
    /// The number of passes over the samples.
    pub epochs: usize,
    /// The number of training images, counted from the first.
    pub samples: usize,
    /// Whether the samples are shuffled in each epoch.
    pub shuffle: bool,
    /// The pixel normalisation.
    pub normalisation: Normalisation,
    /// The distribution of the initial parameters.
    pub initialisation: Initialisation,
    /// Whether to skip a last batch that is not full, in training and in testing.
    pub drop_last: bool,
    /// The seed of the initial parameters and of the order of the samples.
    pub seed: u64,
    /// The number of batches between reports of the loss.
    pub report_every: usize,
    /// The number of batches between tests; `None` to only test at the end.
    pub evaluate_every: Option<usize>,
    /// Training stops when the test accuracy exceeds this fraction.
    pub stop_at_accuracy: Option<f64>,
    /// The maximum number of batches.
    pub max_batches: Option<usize>,
    /// The limit of single precision that a fixture tests. The table in `reference/presets.py` has no such
    /// field, because the gold standard reads a fixture's parameters from its inputs.
    pub edge: Option<Edge>,
}

impl Preset {
    /// The presets. The first is the default.
    #[must_use]
    pub fn presets() -> Vec<Self> {
        vec![
            // The network of the nvmath-python tutorial. The tutorial's published run: loss 0.6833 at batch 0, 0.0566
            // at batch 220, accuracy 91.46 % on the 9,984 test images of 39 full batches.
            Self {
                batch_size: 256,
                learning_rate: 0.1,
                drop_last: true,
                report_every: 20,
                ..Self::trained("small", &[784, 30, 10], Loss::Bce)
            },
            // The network of the article "Training and verifying neural nets in raw CUDA".
            Self {
                batch_size: 8,
                epochs: 10,
                samples: 10_000,
                initialisation: Initialisation::KaimingUniform,
                report_every: 1_250,
                ..Self::trained("medium", &[784, 256, 10], Loss::CrossEntropy)
            },
            // The repository mnist-cuda.
            Self {
                batch_size: 32,
                epochs: 10,
                samples: 10_000,
                initialisation: Initialisation::KaimingUniform,
                drop_last: true,
                report_every: 312,
                ..Self::trained("large", &[784, 1024, 10], Loss::CrossEntropy)
            },
            // The network of the PTX notebook, which measures the time until the accuracy is 60 %.
            Self {
                learning_rate: 0.001,
                epochs: 11,
                shuffle: true,
                normalisation: Normalisation::Unit,
                initialisation: Initialisation::SmallNormal,
                evaluate_every: Some(100),
                stop_at_accuracy: Some(0.6),
                max_batches: Some(10_000),
                ..Self::trained("race", &[784, 128, 10], Loss::SquaredError)
            },
            // The network whose gradients the PTX notebook derives: softmax on three layers.
            Self::trained("deep", &[784, 128, 64, 10], Loss::CrossEntropy),
        ]
    }

    /// The fixtures: small networks for difficult cases, whose reference dumps are committed.
    #[must_use]
    pub fn fixtures() -> Vec<Self> {
        vec![
            Self::fixture("softmax", &[784, 30, 10], Loss::CrossEntropy, 8),
            Self::fixture("squared-error", &[784, 17, 10], Loss::SquaredError, 7),
            Self::fixture("bce", &[784, 30, 10], Loss::Bce, 7),
            Self::fixture("three-layer", &[784, 32, 17, 10], Loss::CrossEntropy, 8),
            Self::fixture("wide", &[784, 130, 10], Loss::CrossEntropy, 5),
            Self::fixture("single", &[784, 30, 10], Loss::CrossEntropy, 1),
            Self::fixture("batch-37", &[784, 20, 10], Loss::Bce, 37),
            Self::fixture("batch-67", &[784, 30, 10], Loss::CrossEntropy, 67),
            Self::fixture("one-unit", &[784, 1, 10], Loss::SquaredError, 7),
            Self::fixture("units-1025", &[13, 1025, 10], Loss::CrossEntropy, 9),
            Self::at_edge("large-logits", Edge::LargeLogits, Loss::CrossEntropy),
            Self::at_edge("saturated", Edge::LargeLogits, Loss::Bce),
            Self::at_edge("kink", Edge::Kink, Loss::CrossEntropy),
            Self::at_edge("subnormal", Edge::Subnormal, Loss::CrossEntropy),
            Self::at_edge("zero-gradient", Edge::ZeroGradient, Loss::SquaredError),
        ]
    }

    /// The names that `--preset` accepts: presets, then fixtures.
    #[must_use]
    pub fn names() -> Vec<String> {
        Self::presets().into_iter().chain(Self::fixtures()).map(|preset| preset.name).collect()
    }

    /// The preset or fixture with this name, which may be a former name.
    #[must_use]
    pub fn find(name: &str) -> Option<Self> {
        let name = tensor::current_preset_name(name);
        Self::presets().into_iter().chain(Self::fixtures()).find(|preset| preset.name == name)
    }

    fn trained(name: &str, sizes: &[usize], loss: Loss) -> Self {
        Self {
            name: name.into(),
            kind: PresetKind::Preset,
            network: Network { sizes: sizes.into(), loss },
            batch_size: 64,
            learning_rate: 0.01,
            epochs: 1,
            samples: 60_000,
            shuffle: false,
            normalisation: Normalisation::MeanStd,
            initialisation: Initialisation::UniformFanIn,
            drop_last: false,
            seed: 1,
            report_every: 100,
            evaluate_every: None,
            stop_at_accuracy: None,
            max_batches: None,
            edge: None,
        }
    }

    fn fixture(name: &str, sizes: &[usize], loss: Loss, batch_size: usize) -> Self {
        Self {
            kind: PresetKind::Fixture,
            batch_size,
            samples: batch_size,
            learning_rate: 0.1,
            ..Self::trained(name, sizes, loss)
        }
    }

    fn at_edge(name: &str, edge: Edge, loss: Loss) -> Self {
        Self { edge: Some(edge), ..Self::fixture(name, &[64, 24, 10], loss, 8) }
    }
}

#[cfg(test)]
mod tests {
    use tensor::FORMER_PRESET_NAMES;

    use super::*;

    #[test]
    fn names_are_unique() {
        let names = Preset::names();
        for name in &names {
            assert_eq!(names.iter().filter(|other| *other == name).count(), 1, "{name}");
            assert_eq!(Preset::find(name).unwrap().name, *name);
        }
        assert_eq!(Preset::presets()[0].name, "small", "the default comes first");
    }

    #[test]
    fn every_preset_is_found_by_its_former_name() {
        let found = FORMER_PRESET_NAMES.map(|(former, _)| Preset::find(former).unwrap().name);
        assert_eq!(found, ["small", "medium", "large", "race", "deep"]);
        assert_eq!(found.to_vec(), Preset::names()[..found.len()]);
    }
}
