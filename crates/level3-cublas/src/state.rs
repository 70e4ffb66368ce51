//! The buffers: what a training step reads and writes, how it is laid out, and how long it lives.
//! All of it stays on the device; the host has no copy.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use cudarc::driver::DevicePtr;
use data::{Batch, Dataset};
use gpu::memory::{buffer, grow};
use gpu::transfer::Transfer;
use gpu::{Buffer, Gpu, GpuError, Layer, View};
use level2_cuda_naive::loss::{Losses, mean};
use tensor::{Loss, Network, TensorName};

use crate::Setup;
use crate::epilogue::Mask;
use crate::error::Result;
use crate::input::FixedInput;
use crate::operations::Operations;
use crate::plan::LayerPlan;

/// Everything a training step touches. Each buffer is flat and row-major, and is reused from
/// batch to batch: memory is allocated only for a batch larger than any before.
pub(crate) struct State {
    /// The layers, first to last.
    pub(crate) layers: Vec<Layer>,
    /// For each layer the mask of `z`; unused if `z` is written.
    pub(crate) masks: Vec<Mask>,
    /// The products of each layer, for every batch size so far.
    pub(crate) plans: HashMap<usize, Vec<LayerPlan>>,
    /// The loss, which decides what `p` is.
    pub(crate) loss: Loss,
    /// `B`, the number of samples of the loaded batch; 0 until one is loaded.
    pub(crate) batch: usize,
    /// The divisor of gradients if it isn't `B`, because the samples are a share of a larger batch.
    pub(crate) whole: Option<usize>,
    /// `x`, `[B, n0]`, and `y`, `[B, C]`, one-hot, and how they get here.
    pub(crate) input: Box<dyn Transfer>,
    /// `p`, `[B, C]`.
    pub(crate) p: Buffer,
    /// The buffers in which the loss is computed.
    losses: Losses,
}

impl State {
    /// All buffers of a network, for batches of one sample at first. The parameters are 0.
    pub(crate) fn new(
        gpu: &Gpu,
        on: &Operations,
        network: &Network,
        setup: &Setup,
    ) -> Result<Self> {
        let stream = on.stream();
        let sizes = || network.sizes.windows(2);
        let mut input = setup.transfer.start(gpu, &on.kernels.launcher)?;
        if setup.graph {
            input = Box::new(FixedInput::new(input, stream)?);
        }
        Ok(Self {
            layers: sizes().map(|n| Layer::new(stream, n[0], n[1])).collect::<gpu::Result<_>>()?,
            masks: sizes().map(|n| Mask::new(stream, n[1])).collect::<gpu::Result<_>>()?,
            plans: HashMap::new(),
            loss: network.loss,
            batch: 0,
            whole: None,
            input,
            p: buffer(stream, network.outputs())?,
            losses: Losses::new(stream, 1)?,
        })
    }

    /// Passes on the training set. No batch is loaded afterwards.
    pub(crate) fn dataset(&mut self, set: &Dataset) -> gpu::Result<()> {
        self.batch = 0;
        self.input.dataset(set)
    }

    /// Loads a batch, or a share of a batch of `whole` samples; `next` is the batch after it.
    ///
    /// # Errors
    /// If the device is out of memory; then no batch is loaded, and some buffers may have moved.
    pub(crate) fn load(
        &mut self,
        on: &Operations,
        batch: &Batch<'_>,
        next: Option<&Batch<'_>>,
        whole: Option<usize>,
    ) -> Result<()> {
        // No batch counts as loaded until all buffers have room for it.
        self.batch = 0;
        self.input.load(batch, next)?;
        self.make_room(on, batch.len())?;
        (self.batch, self.whole) = (batch.len(), whole);
        Ok(())
    }

    /// Makes room for batches of this size, and plans their products if there is no plan yet.
    pub(crate) fn make_room(&mut self, on: &Operations, batch: usize) -> Result<()> {
        let (stream, last) = (on.stream(), self.layers.len() - 1);
        let Self { layers, masks, plans, p, losses, .. } = self;
        losses.make_room(stream, batch)?;
        for (l, layer) in layers.iter_mut().enumerate() {
            let elements = batch * layer.outputs;
            grow(stream, &mut layer.dz, elements)?;
            if l < last {
                grow(stream, &mut layer.a, elements)?;
                masks[l].grow(stream, batch)?;
            } else {
                grow(stream, p, elements)?;
            }
        }
        let plans = match plans.entry(batch) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => new.insert(LayerPlan::all(on, layers, masks, batch)?),
        };
        for (l, plan) in plans.iter().enumerate() {
            let (inputs, outputs) = (batch * layers[l].inputs, batch * layers[l].outputs);
            if !plan.makes_a() {
                grow(stream, &mut layers[l].z, outputs)?;
            }
            if l > 0 && !plan.makes_dz() {
                grow(stream, &mut layers[l - 1].da, inputs)?;
            }
        }
        Ok(())
    }

    /// The addresses of all buffers that a later batch can move.
    pub(crate) fn addresses(&self, on: &Operations) -> Vec<u64> {
        let address = |buffer: &Buffer| buffer.device_ptr(on.stream()).0;
        let layers =
            self.layers.iter().flat_map(|layer| [&layer.z, &layer.a, &layer.da, &layer.dz]);
        let masks = self.masks.iter().map(|mask| mask.bits.device_ptr(on.stream()).0);
        let inputs = [self.input.x(), self.input.y()].map(|view| view.device_ptr(on.stream()).0);
        layers.chain([&self.p]).map(address).chain(masks).chain(inputs).collect()
    }

    /// Fails if no batch is loaded.
    pub(crate) fn is_loaded(&self, operation: &'static str) -> Result<()> {
        if self.batch == 0 {
            return Err(GpuError::NoBatch { operation }.into());
        }
        Ok(())
    }

    /// The sum of the losses of all samples, on the device.
    pub(crate) fn loss_sum(&mut self, on: &Operations) -> Result<&mut Buffer> {
        self.is_loaded("loss")?;
        let last = &self.layers[self.layers.len() - 1];
        let (z, y) = (last.z.as_view(), self.input.y());
        Ok(self.losses.sum(&on.kernels, self.loss, (&z, &y), self.batch, last.outputs)?)
    }

    /// The loss of the last forward pass, as the preset prints it; waits for the device.
    pub(crate) fn loss(&mut self, on: &Operations) -> Result<f32> {
        let sum = self.loss_sum(on)?.as_view();
        let sum = on.kernels.launcher.read(&sum, 1)?[0];
        Ok(self.mean_loss(sum, self.batch))
    }

    /// The loss from the sum over a number of samples.
    pub(crate) fn mean_loss(&self, sum: f32, samples: usize) -> f32 {
        mean(self.loss, sum, samples, self.layers[self.layers.len() - 1].outputs)
    }

    /// The buffer of a tensor, which may have room for more than the loaded batch; `None` if an epilogue
    /// consumes the tensor, for the loss, and for the updated parameters, which replace the old ones.
    pub(crate) fn view(&self, name: TensorName) -> Option<View<'_>> {
        use TensorName::{Da, P, X, Y, Z};
        let plan = |l: usize| self.plans.get(&self.batch).and_then(|plans| plans.get(l));
        match name {
            Z(l) if plan(l - 1).is_some_and(LayerPlan::makes_a) => None,
            Da(l) if plan(l).is_some_and(LayerPlan::makes_dz) => None,
            X => Some(self.input.x()),
            Y => Some(self.input.y()),
            P => Some(self.p.as_view()),
            _ => Layer::find(&self.layers, name).map(Buffer::as_view),
        }
    }
}
