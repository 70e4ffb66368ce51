//! The buffers that a training step reads and writes: their layout and their lifetimes.
//! They stay on the device; the host has no copies.

use std::sync::Arc;

use cudarc::driver::CudaStream;
use data::{Batch, Dataset};
use gpu::memory::{buffer, grow};
use gpu::transfer::Transfer;
use gpu::{Buffer, GpuError, Layer, Result, View};
use tensor::{Loss, Network, TensorName};

use crate::loss::Losses;
use crate::operations::Operations;

/// Everything a training step touches. Each buffer is flat and row-major, and is reused from
/// batch to batch: memory is allocated only for a batch larger than any before.
pub(crate) struct State {
    /// The layers, first to last.
    pub(crate) layers: Vec<Layer>,
    /// The loss, which decides what `p` is.
    pub(crate) loss: Loss,
    /// `B`, the number of samples of the loaded batch; 0 until one is loaded whole.
    pub(crate) batch: usize,
    /// `x`, `[B, n0]`, and `y`, `[B, C]`, one-hot, and how they are copied to the device.
    pub(crate) input: Box<dyn Transfer>,
    /// `p`, `[B, C]`.
    pub(crate) p: Buffer,
    /// The buffers in which the loss is computed.
    losses: Losses,
    stream: Arc<CudaStream>,
}

impl State {
    /// All buffers of a network, for batches of one sample at first. The parameters are 0.
    pub(crate) fn new(
        stream: &Arc<CudaStream>,
        network: &Network,
        input: Box<dyn Transfer>,
    ) -> Result<Self> {
        let layer = |n: &[usize]| Layer::new(stream, n[0], n[1]);
        Ok(Self {
            layers: network.sizes.windows(2).map(layer).collect::<Result<_>>()?,
            loss: network.loss,
            batch: 0,
            input,
            p: buffer(stream, network.outputs())?,
            losses: Losses::new(stream, 1)?,
            stream: Arc::clone(stream),
        })
    }

    /// Hands the training set to the transfer strategy. If a batch was loaded, it no longer is.
    pub(crate) fn dataset(&mut self, set: &Dataset) -> Result<()> {
        self.batch = 0;
        self.input.dataset(set)
    }

    /// Loads a batch and enlarges the buffers if needed; `next` is the batch after it.
    ///
    /// If the device is out of memory, no batch is loaded afterwards. A smaller batch may still fit.
    pub(crate) fn load(&mut self, batch: &Batch<'_>, next: Option<&Batch<'_>>) -> Result<()> {
        // If anything below fails, no batch is loaded.
        self.batch = 0;
        self.input.load(batch, next)?;
        let (stream, last) = (&self.stream, self.layers.len() - 1);
        for (l, layer) in self.layers.iter_mut().enumerate() {
            let elements = batch.len() * layer.outputs;
            grow(stream, &mut layer.z, elements)?;
            grow(stream, &mut layer.dz, elements)?;
            if l < last {
                grow(stream, &mut layer.a, elements)?;
                grow(stream, &mut layer.da, elements)?;
            } else {
                grow(stream, &mut self.p, elements)?;
            }
        }
        self.losses.make_room(stream, batch.len())?;
        self.batch = batch.len();
        Ok(())
    }

    /// The loss of the last forward pass, as the preset prints it; waits for the device.
    pub(crate) fn loss(&mut self, on: &Operations) -> Result<f32> {
        if self.batch == 0 {
            return Err(GpuError::NoBatch { operation: "loss" });
        }
        let last = &self.layers[self.layers.len() - 1];
        let (z, y) = (last.z.as_view(), self.input.y());
        self.losses.mean(on, self.loss, (&z, &y), self.batch, last.outputs)
    }

    /// The buffer of a tensor, which may be larger than the loaded batch needs. `None` for the loss, and for
    /// the updated parameters: the update is in place.
    pub(crate) fn view(&self, name: TensorName) -> Option<View<'_>> {
        match name {
            TensorName::X => Some(self.input.x()),
            TensorName::Y => Some(self.input.y()),
            TensorName::P => Some(self.p.as_view()),
            _ => Layer::find(&self.layers, name).map(Buffer::as_view),
        }
    }
}
