//! The buffers: what a training step reads and writes, how it is laid out, and how long it lives.
//! All of it stays on the device; the host holds none of these numbers.

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
    /// `x`, `[B, n0]`, and `y`, `[B, C]`, one-hot, and how they get here.
    pub(crate) input: Box<dyn Transfer>,
    /// `p`, `[B, C]`.
    pub(crate) p: Buffer,
    /// Where the loss is made.
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

    /// Takes in the training set. No batch is loaded afterwards.
    pub(crate) fn dataset(&mut self, set: &Dataset) -> Result<()> {
        self.batch = 0;
        self.input.dataset(set)
    }

    /// Takes in a batch, told the one after it too, and makes room for it.
    ///
    /// Where the device has no memory left, no batch is loaded afterwards; the next one finds room, or
    /// fails in the same way.
    pub(crate) fn load(&mut self, batch: &Batch<'_>, next: Option<&Batch<'_>>) -> Result<()> {
        // Until there is room for all of it, no batch is there.
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

    /// The buffer of a tensor, which may have room for more than the loaded batch; none for the
    /// loss and for the parameters after the step, which take the place of those before.
    pub(crate) fn view(&self, name: TensorName) -> Option<View<'_>> {
        match name {
            TensorName::X => Some(self.input.x()),
            TensorName::Y => Some(self.input.y()),
            TensorName::P => Some(self.p.as_view()),
            _ => Layer::find(&self.layers, name).map(Buffer::as_view),
        }
    }
}
