//! The buffers: what a training step reads and writes, how it is laid out, and how long it lives.
//! All of it stays on the device; the host holds none of these numbers.

use std::collections::HashMap;
use std::rc::Rc;

use data::{Batch, Dataset};
use gpu::memory::{buffer, grow};
use gpu::{Buffer, Gpu, GpuError, Layer, View};
use level2_cuda_naive::loss::{Losses, mean};
use tensor::{Loss, Network, TensorName};

use crate::Setup;
use crate::epilogue::Mask;
use crate::error::Result;
use crate::input::Input;
use crate::operations::Operations;
use crate::plan::LayerPlan;

/// Everything a training step touches. Each buffer is flat and row-major, and is reused from
/// batch to batch: memory is allocated only for a batch larger than any before.
pub(crate) struct State {
    /// The layers, first to last.
    pub(crate) layers: Vec<Layer>,
    /// Of each layer which elements of `z` are not negative, a bit for each; unused where `z` is used.
    pub(crate) masks: Vec<Mask>,
    /// The products of each layer, for batches of the loaded one's size.
    pub(crate) plans: Rc<[LayerPlan]>,
    /// The loss, which decides what `p` is.
    pub(crate) loss: Loss,
    /// `B`, the number of samples of the loaded batch; 0 until one is loaded.
    pub(crate) batch: usize,
    /// The divisor of gradients if it isn't `B`, because the samples are a share of a larger batch.
    pub(crate) whole: Option<usize>,
    /// `x`, `[B, n0]`, and `y`, `[B, C]`, one-hot, and how they get here.
    pub(crate) input: Input,
    /// `p`, `[B, C]`.
    pub(crate) p: Buffer,
    /// Where the loss is made.
    losses: Losses,
    /// The plans for every size of batch that there was.
    known: HashMap<usize, Rc<[LayerPlan]>>,
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
        Ok(Self {
            layers: sizes().map(|n| Layer::new(stream, n[0], n[1])).collect::<gpu::Result<_>>()?,
            masks: sizes().map(|n| Mask::new(stream, n[1])).collect::<gpu::Result<_>>()?,
            plans: Rc::new([]),
            loss: network.loss,
            batch: 0,
            whole: None,
            input: Input::new(gpu, &on.kernels.launcher, setup.transfer, setup.graph)?,
            p: buffer(stream, network.outputs())?,
            losses: Losses::new(stream, 1)?,
            known: HashMap::new(),
        })
    }

    /// Takes in the training set. No batch is loaded afterwards.
    pub(crate) fn dataset(&mut self, set: &Dataset) -> gpu::Result<()> {
        self.batch = 0;
        self.input.dataset(set)
    }

    /// Loads a batch, or a share of a batch of `whole` samples; `next` is the batch after it. Makes room for
    /// the batch, and plans its products if there is no plan for its size yet. Returns whether a buffer
    /// has moved.
    ///
    /// If the device is out of memory, no batch is loaded afterwards, and some buffers may have moved.
    pub(crate) fn load(
        &mut self,
        on: &Operations,
        batch: &Batch<'_>,
        next: Option<&Batch<'_>>,
        whole: Option<usize>,
    ) -> Result<bool> {
        // Until there is room for all of it, no batch is there.
        self.batch = 0;
        let mut moved = self.input.load(batch, next)?;
        moved |= self.make_room(on, batch.len())?;
        (self.batch, self.whole) = (batch.len(), whole);
        Ok(moved)
    }

    /// Makes room for batches of one size, and finds or makes their plans. Returns whether a buffer has
    /// moved.
    pub(crate) fn make_room(&mut self, on: &Operations, batch: usize) -> Result<bool> {
        let (stream, last) = (on.stream(), self.layers.len() - 1);
        let mut moved = false;
        self.losses.make_room(stream, batch)?;
        for (l, layer) in self.layers.iter_mut().enumerate() {
            let elements = batch * layer.outputs;
            moved |= grow(stream, &mut layer.dz, elements)?;
            if l < last {
                moved |= grow(stream, &mut layer.a, elements)?;
                moved |= self.masks[l].grow(stream, batch)?;
            } else {
                moved |= grow(stream, &mut self.p, elements)?;
            }
        }
        let plans = match self.known.get(&batch) {
            Some(plans) => Rc::clone(plans),
            None => LayerPlan::all(on, &mut self.layers, &mut self.masks, batch)?.into(),
        };
        for (l, plan) in plans.iter().enumerate() {
            let layer = &mut self.layers[l];
            let (inputs, outputs) = (batch * layer.inputs, batch * layer.outputs);
            if !plan.makes_a() {
                moved |= grow(stream, &mut layer.z, outputs)?;
            }
            if l > 0 && !plan.makes_dz() {
                moved |= grow(stream, &mut self.layers[l - 1].da, inputs)?;
            }
        }
        self.known.insert(batch, Rc::clone(&plans));
        self.plans = plans;
        Ok(moved)
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

    /// The buffer of a tensor, which may have room for more than the loaded batch; none where an
    /// epilogue consumes it, for the loss, and for the parameters after the step, which take the
    /// place of those before.
    pub(crate) fn view(&self, name: TensorName) -> Option<View<'_>> {
        use TensorName::{Da, P, X, Y, Z};
        match name {
            Z(l) if self.plans[l - 1].makes_a() => None,
            Da(l) if self.plans[l].makes_dz() => None,
            X => Some(self.input.x()),
            Y => Some(self.input.y()),
            P => Some(self.p.as_view()),
            _ => Layer::find(&self.layers, name).map(Buffer::as_view),
        }
    }
}
