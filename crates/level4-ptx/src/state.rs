//! The buffers: what a training step reads and writes, how it is laid out, and how long it lives.
//! All of it stays on the device; the host holds none of these numbers.

use std::sync::Arc;

use cudarc::driver::{CudaSlice, CudaStream, DevicePtr};
use data::{Batch, Dataset};
use gpu::memory::{buffer, grow, zeros};
use gpu::{Buffer, GpuError, Launcher, Layer, Result, View};
use tensor::{Loss, Network, TensorName};
use training::Parameters;

use crate::input::Input;
use crate::table::table;
use crate::{Plan, Record, Rung};

/// Everything a training step touches. Each buffer is flat and row-major, and is reused from
/// batch to batch: memory is allocated only for a batch larger than any before.
pub(crate) struct State {
    rung: Rung,
    /// The layers, first to last. What the rung never writes holds one element.
    pub(crate) layers: Vec<Layer>,
    /// Of each layer the sums over the chunks of a batch, `[chunks, n, m]` and `[chunks, n]`.
    partials: Vec<Buffer>,
    /// The loss, which decides what `p` is.
    pub(crate) loss: Loss,
    /// `B`, the number of samples of the loaded batch; 0 until one is loaded whole.
    pub(crate) batch: usize,
    /// `x`, `[B, n0]`, and `y`, `[B, C]`, one-hot.
    pub(crate) input: Input,
    /// `p`, `[B, C]`.
    pub(crate) p: Buffer,
    /// The loss of each sample, `[B]`; after a launch of many batches, of all their samples.
    pub(crate) losses: Buffer,
    /// Where those of the loaded batch begin.
    pub(crate) losses_from: usize,
    /// A record for each layer: what the kernels that take all layers are given.
    pub(crate) table: CudaSlice<u64>,
    /// The samples that the buffers have room for.
    capacity: usize,
    stream: Arc<CudaStream>,
}

impl State {
    /// All buffers of a network, for batches of one sample at first. The parameters are 0.
    pub(crate) fn new(on: &Launcher, network: &Network, rung: Rung) -> Result<Self> {
        let stream = &on.stream;
        let last = network.layers();
        let layer = |l: usize| {
            let gradients = rung.holds(TensorName::Dw(l), last);
            Layer::allocate::<GpuError>(
                (network.sizes[l - 1], network.sizes[l]),
                gradients,
                |elements| zeros(stream, elements),
                |elements| buffer(stream, elements),
            )
        };
        Ok(Self {
            rung,
            layers: (1..=last).map(layer).collect::<Result<_>>()?,
            partials: (1..=last).map(|_| buffer(stream, 1)).collect::<Result<_>>()?,
            loss: network.loss,
            batch: 0,
            input: Input::new(on)?,
            p: buffer(stream, 1)?,
            losses: buffer(stream, 1)?,
            losses_from: 0,
            table: stream.alloc_zeros(last * Record::WORDS)?,
            capacity: 0,
            stream: Arc::clone(stream),
        })
    }

    /// Takes in the training set. No batch is loaded afterwards.
    pub(crate) fn dataset(&mut self, set: &Dataset) -> Result<()> {
        self.batch = 0;
        self.input.dataset(set)
    }

    /// Takes in a batch, and makes room for it. Rungs whose blocks wait say how they cut batches of this
    /// size, which the kernel finds in the table.
    ///
    /// Where the device has no memory left, no batch is loaded afterwards, and what was there is as
    /// large as it was: the next batch finds room, or fails in the same way.
    pub(crate) fn load(&mut self, batch: &Batch<'_>, plan: Option<&Plan>) -> Result<()> {
        let before = std::mem::take(&mut self.batch);
        self.input.load(batch)?;
        self.fit(before, batch.len(), plan)
    }

    /// Makes room for batches of that size, which are found elsewhere than where batches are loaded.
    pub(crate) fn expect(&mut self, batch: usize, plan: Option<&Plan>) -> Result<()> {
        let before = std::mem::take(&mut self.batch);
        self.fit(before, batch, plan)
    }

    /// From here on buffers may move, and the table that names them is of no batch.
    fn fit(&mut self, before: usize, batch: usize, plan: Option<&Plan>) -> Result<()> {
        self.losses_from = 0;
        if batch > self.capacity {
            self.make_room(batch)?;
        }
        if before != batch {
            self.write_table(plan)?;
        }
        self.batch = batch;
        Ok(())
    }

    fn make_room(&mut self, batch: usize) -> Result<()> {
        let last = self.layers.len();
        make_room(&mut self.layers, self.rung, batch, |elements| buffer(&self.stream, elements))?;
        let classes = self.layers[last - 1].outputs;
        self.p = buffer(&self.stream, batch * classes)?;
        self.room_for_losses(batch)?;
        self.capacity = batch;
        Ok(())
    }

    /// Makes room for the losses of this many samples.
    pub(crate) fn room_for_losses(&mut self, samples: usize) -> Result<()> {
        if self.losses.len() < samples {
            self.losses = buffer(&self.stream, samples)?;
        }
        Ok(())
    }

    /// Tells the device where everything is.
    fn write_table(&mut self, plan: Option<&Plan>) -> Result<()> {
        let stream = &self.stream;
        for (layer, partial) in self.layers.iter().zip(&mut self.partials) {
            if let (Some(plan), Rung::OneLaunch) = (plan, self.rung) {
                grow(stream, partial, plan.partial_sums(layer))?;
            }
        }
        let at = |buffer: &Buffer| buffer.device_ptr(stream).0;
        let words = table(&self.layers, &self.partials, plan, at);
        Ok(stream.memcpy_htod(&words, &mut self.table)?)
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

    /// Fails where no batch is loaded.
    pub(crate) fn is_loaded(&self, operation: &'static str) -> Result<()> {
        if self.batch == 0 { Err(GpuError::NoBatch { operation }) } else { Ok(()) }
    }

    /// Replaces all parameters.
    pub(crate) fn set_parameters(&mut self, parameters: &Parameters) -> Result<()> {
        for (layer, given) in self.layers.iter_mut().zip(&parameters.layers) {
            self.stream.memcpy_htod(given.w.data(), &mut layer.w)?;
            self.stream.memcpy_htod(given.b.data(), &mut layer.b)?;
        }
        Ok(())
    }
}

/// The loss as the kernels are told it.
pub(crate) const fn loss_code(loss: Loss) -> u32 {
    match loss {
        Loss::CrossEntropy => 0,
        Loss::Bce => 1,
        Loss::SquaredError => 2,
    }
}

/// Makes room for a batch in what has a row for each sample: whole for what the rung writes, one
/// element for what it never does. `buffer` allocates.
pub(crate) fn make_room<B, E>(
    layers: &mut [Layer<B>],
    rung: Rung,
    batch: usize,
    buffer: impl Fn(usize) -> std::result::Result<B, E>,
) -> std::result::Result<(), E> {
    let last = layers.len();
    for (layer, l) in layers.iter_mut().zip(1..) {
        let elements = batch * layer.outputs;
        let rows = |name| buffer(if rung.holds(name, last) { elements } else { 1 });
        layer.z = rows(TensorName::Z(l))?;
        layer.a = rows(TensorName::A(l))?;
        layer.da = rows(TensorName::Da(l))?;
        layer.dz = rows(TensorName::Dz(l))?;
    }
    Ok(())
}
