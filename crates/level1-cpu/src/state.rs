//! The buffers that a training step reads and writes: their layout and their lifetimes.

use std::ops::Range;

use data::{Batch, Dataset};
use tensor::{Loss, Network};
use training::{Error, Result};

// ANCHOR: state
/// Everything a training step touches. Each buffer is flat and row-major, and is reused from
/// batch to batch: nothing is allocated while training.
pub(crate) struct State {
    /// The layers, first to last.
    pub layers: Vec<Layer>,
    /// The loss, which decides what `p` is.
    pub loss: Loss,
    /// `B`, the number of samples of the loaded batch; 0 until one is loaded.
    pub batch: usize,
    /// `x`, `[B, n0]`.
    pub input: Input,
    /// `y`, `[B, C]`, one-hot.
    pub y: Vec<f32>,
    /// `p`, `[B, C]`.
    pub p: Vec<f32>,
}

/// One layer, `n` units on `m` inputs.
#[derive(Default)]
pub(crate) struct Layer {
    /// `m`.
    pub inputs: usize,
    /// `n`.
    pub outputs: usize,

    // Buffers that live as long as the training: read by every step, written by its update.
    /// Weights, `[n, m]`.
    pub w: Vec<f32>,
    /// Biases, `[n]`.
    pub b: Vec<f32>,

    // Buffers that live for one step: written by the forward pass, read by the backward pass.
    /// `[B, n]`.
    pub z: Vec<f32>,
    /// `relu(z)`, `[B, n]`; empty in the last layer, which has `p`.
    pub a: Vec<f32>,

    // Buffers that live for one step, too: written by the backward pass, the last two read by the update.
    /// `[B, n]`; empty in the last layer.
    pub da: Vec<f32>,
    /// `[B, n]`.
    pub dz: Vec<f32>,
    /// `[n, m]`.
    pub dw: Vec<f32>,
    /// `[n]`.
    pub db: Vec<f32>,
}
// ANCHOR_END: state

/// The loaded `x`, `[B, n0]`: rows of the dataset, where they are.
#[derive(Clone, Default)]
pub(crate) struct Samples {
    /// The dataset, once a batch is loaded.
    set: Option<Dataset>,
    /// For each sample, the place of its first number in the dataset's `x`.
    starts: Vec<usize>,
}

impl Samples {
    /// The numbers of the dataset, and for each sample the place of its first one.
    pub(crate) fn rows(&self) -> (&[f32], &[usize]) {
        (self.set.as_ref().map_or(&[], Dataset::x), &self.starts)
    }

    /// The rows from this input on.
    pub(crate) fn rows_from(&self, input: usize) -> impl Iterator<Item = &[f32]> {
        let (numbers, starts) = self.rows();
        starts.iter().map(move |start| &numbers[start + input..])
    }

    /// Copies `other` into this value, and reuses its memory.
    pub(crate) fn copy_from(&mut self, other: &Self) {
        self.set.clone_from(&other.set);
        self.starts.clone_from(&other.starts);
    }
}

/// The loaded `x` as the textbook form reads it, in one piece.
#[derive(Default)]
pub(crate) struct Input {
    pub samples: Samples,
    /// The range of the rows in the dataset, if the rows are contiguous there, so that nothing needs to be copied.
    in_place: Option<Range<usize>>,
    /// A copy of the rows, if they are not contiguous in the dataset; empty until the rows are needed in one piece.
    gathered: Vec<f32>,
}

impl Input {
    /// `x`, `[B, n0]`, for which [`gather`](Self::gather) has been called.
    pub(crate) fn x(&self) -> &[f32] {
        match &self.in_place {
            Some(numbers) => &self.samples.rows().0[numbers.clone()],
            None => &self.gathered,
        }
    }

    /// Copies the rows into one piece, unless they are contiguous in the dataset.
    pub(crate) fn gather(&mut self) {
        if let (None, true, Some(set)) =
            (&self.in_place, self.gathered.is_empty(), &self.samples.set)
        {
            for &start in &self.samples.starts {
                self.gathered.extend_from_slice(&set.x()[start..start + set.features()]);
            }
        }
    }

    fn load(&mut self, batch: &Batch<'_>) {
        let set = batch.dataset();
        let features = set.features();
        self.samples.set = Some(set.clone());
        self.samples.starts.clear();
        self.samples.starts.extend(batch.indices().map(|row| row * features));
        self.in_place = batch.contiguous().map(|rows| rows.start * features..rows.end * features);
        self.gathered.clear();
    }
}

impl State {
    /// All buffers of a network, empty if their size depends on the batch.
    pub(crate) fn new(network: &Network) -> Self {
        let layer = |n: &[usize]| Layer {
            inputs: n[0],
            outputs: n[1],
            w: vec![0.0; n[1] * n[0]],
            b: vec![0.0; n[1]],
            dw: vec![0.0; n[1] * n[0]],
            db: vec![0.0; n[1]],
            ..Layer::default()
        };
        Self {
            layers: network.sizes.windows(2).map(layer).collect(),
            loss: network.loss,
            batch: 0,
            input: Input::default(),
            y: Vec::new(),
            p: Vec::new(),
        }
    }

    /// Loads a batch, and resizes the buffers. The fast form holds `packed` more numbers for each sample.
    ///
    /// # Errors
    /// [`Error::Memory`] if the host is out of memory.
    pub(crate) fn load(&mut self, batch: &Batch<'_>, packed: u64) -> Result<()> {
        self.check_memory(batch, packed)?;
        self.input.load(batch);
        if batch.len() != self.batch {
            self.batch = batch.len();
            let last = self.layers.len() - 1;
            for (l, layer) in self.layers.iter_mut().enumerate() {
                let elements = self.batch * layer.outputs;
                let hidden = if l < last { elements } else { 0 };
                layer.z.resize(elements, 0.0);
                layer.a.resize(hidden, 0.0);
                layer.da.resize(hidden, 0.0);
                layer.dz.resize(elements, 0.0);
            }
            let outputs = self.batch * self.layers[last].outputs;
            self.y.resize(outputs, 0.0);
            self.p.resize(outputs, 0.0);
        }
        batch.copy_y(&mut self.y);
        Ok(())
    }

    /// Fails if no batch is loaded.
    pub(crate) const fn is_loaded(&self, operation: &'static str) -> Result<()> {
        if self.batch == 0 { Err(Error::NoBatch { operation }) } else { Ok(()) }
    }

    /// Fails if a batch is larger than any before and doesn't fit into memory.
    fn check_memory(&self, batch: &Batch<'_>, packed: u64) -> Result<()> {
        let outputs: u64 = self.layers.iter().map(|layer| layer.outputs as u64).sum();
        let (samples, features) = (batch.len(), batch.dataset().features() as u64);
        if samples * self.layers[self.layers.len() - 1].outputs <= self.p.capacity() {
            return Ok(());
        }
        // z, a, da and dz of every layer; the last layer has y and p instead of a and da.
        let bytes = size_of::<f32>() as u64 * samples as u64 * (4 * outputs + features + packed);
        host::memory::check(bytes).map_err(|shortage| Error::Memory {
            what: format!("holding a batch of {samples} samples, in every layer,"),
            shortage,
        })
    }
}
