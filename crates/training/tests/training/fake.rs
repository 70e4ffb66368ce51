//! A level without arithmetic, for tests of the code that calls levels. It records its calls, and has the outputs and
//! the parameters that a test needs.

use data::{Batch, Dataset};
use tensor::{Tensor, TensorName};
use training::{Level, MultiStep, Parameters, Preset, Result};

pub(crate) struct Fake {
    pub(crate) parameters: Parameters,
    /// For each loaded batch, its labels, and the labels of the next batch if there is one.
    pub(crate) loaded: Vec<(Vec<u8>, Option<Vec<u8>>)>,
    /// The number of calls of `step`.
    pub(crate) steps: usize,
    /// The number of calls of `update`.
    pub(crate) updates: usize,
    /// The number of batches trained one at a time, by `step` or by `update`. A replay resets it to the replay's first
    /// batch.
    pub(crate) trained: usize,
    pub(crate) sizes_of_batches: Vec<usize>,
    pub(crate) at_once: usize,
    /// The number of batches in each call of `steps`.
    pub(crate) launches: Vec<usize>,
    /// The number of batches after which `p` is 1 for the label. Before that, `p` is 1 for the next class, which is
    /// wrong.
    pub(crate) learns_after: usize,
    /// The index of the batch whose update makes an element of `b1` NaN.
    pub(crate) breaks_at: usize,
    /// Whether the NaN only appears in `step`, and not if the phases run one by one.
    pub(crate) breaks_only_fused: bool,
}

impl Fake {
    pub(crate) fn new(preset: &Preset) -> Self {
        Self {
            parameters: Parameters::new(&preset.network, preset.initialisation, 1),
            loaded: Vec::new(),
            steps: 0,
            updates: 0,
            trained: 0,
            sizes_of_batches: Vec::new(),
            at_once: 1,
            launches: Vec::new(),
            learns_after: usize::MAX,
            breaks_at: usize::MAX,
            breaks_only_fused: false,
        }
    }

    /// The labels of the loaded batch.
    fn labels(&self) -> &[u8] {
        self.loaded.last().map_or(&[], |(labels, _)| labels)
    }

    fn train_batch(&mut self, fused: bool) {
        if self.trained == self.breaks_at && (fused || !self.breaks_only_fused) {
            self.parameters.layers[0].b.data_mut()[1] = f32::NAN;
        }
        self.sizes_of_batches.push(self.labels().len());
        self.trained += 1;
    }
}

impl Level for Fake {
    fn dataset(&mut self, _set: &Dataset) -> Result<()> {
        Ok(())
    }

    fn load(&mut self, batch: &Batch<'_>, next: Option<&Batch<'_>>) -> Result<()> {
        let labels = |batch: &Batch<'_>| batch.labels().collect();
        self.loaded.push((labels(batch), next.map(labels)));
        Ok(())
    }

    fn forward(&mut self) -> Result<()> {
        Ok(())
    }

    fn backward(&mut self) -> Result<()> {
        Ok(())
    }

    fn update(&mut self, _learning_rate: f32) -> Result<()> {
        self.updates += 1;
        self.train_batch(false);
        Ok(())
    }

    fn step(&mut self, _learning_rate: f32) -> Result<()> {
        self.steps += 1;
        self.train_batch(true);
        Ok(())
    }

    fn loss(&mut self) -> Result<f32> {
        Ok(0.25)
    }

    fn set_parameters(&mut self, parameters: &Parameters) -> Result<()> {
        self.parameters = parameters.clone();
        // Sets the counter for a replay. In these tests, the loop checks the parameters after batches 0, 4, 8, …, and a
        // replay starts with the batch after the last successful check.
        self.trained = (self.trained.saturating_sub(1) / 4 * 4).saturating_sub(3);
        Ok(())
    }

    fn tensor(&mut self, name: TensorName) -> Result<Option<Tensor>> {
        Ok(match name {
            TensorName::W(l) => Some(self.parameters.layers[l - 1].w.clone()),
            TensorName::B(l) => Some(self.parameters.layers[l - 1].b.clone()),
            TensorName::P => {
                let classes = self.parameters.layers.last().unwrap().b.data().len();
                let mut p = Tensor::zeros([self.labels().len(), classes]);
                let wrong = usize::from(self.trained < self.learns_after);
                for (row, &label) in p.data_mut().chunks_exact_mut(classes).zip(self.labels()) {
                    row[(usize::from(label) + wrong) % classes] = 1.0;
                }
                Some(p)
            }
            _ => None,
        })
    }
}

impl MultiStep for Fake {
    fn at_once(&self) -> usize {
        self.at_once
    }

    /// The fake makes a mistake in the second step of each call.
    fn steps(&mut self, batches: &[Batch<'_>], _learning_rate: f32) -> Result<()> {
        self.launches.push(batches.len());
        self.parameters.layers[0].b.data_mut()[0] = 7.0;
        Ok(())
    }
}
