//! The buffers: what a training step reads and writes, how it is laid out, and how long it lives.
//! All of it stays on the device; the host holds none of these numbers.

use std::sync::Arc;

use cudarc::driver::{CudaSlice, CudaStream, DevicePtr};
use data::{Batch, Dataset};
use gpu::memory::{buffer, grow};
use gpu::transfer::{Resident, Transfer};
use gpu::{Buffer, GpuError, Launcher, Layer, Result, View, loss_code};
use tensor::{Loss, Network, TensorName};

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
    pub(crate) input: Resident,
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

/// The arguments of a launch over all layers, and the size of its work.
pub(crate) struct AllLayers {
    pub(crate) layers: u32,
    pub(crate) loss: u32,
    pub(crate) batch: u32,
    pub(crate) n0: u32,
    pub(crate) classes: u32,
    /// The number of weights.
    pub(crate) weights: usize,
    /// The inputs and outputs of every layer, for one sample.
    pub(crate) units: usize,
    /// The weights, and the units of all samples: the least numbers that the launch moves.
    pub(crate) numbers: usize,
}

impl State {
    /// All buffers of a network, for batches of one sample at first. The parameters are 0.
    pub(crate) fn new(on: &Launcher, network: &Network, rung: Rung) -> Result<Self> {
        let stream = &on.stream;
        let last = network.layers();
        let layer = |l: usize| {
            let gradients = rung.holds(TensorName::Dw(l), last);
            Layer::allocate(stream, network.sizes[l - 1], network.sizes[l], gradients)
        };
        Ok(Self {
            rung,
            layers: (1..=last).map(layer).collect::<Result<_>>()?,
            partials: (1..=last).map(|_| buffer(stream, 1)).collect::<Result<_>>()?,
            loss: network.loss,
            batch: 0,
            input: Resident::copying(on)?,
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

    /// Loads a batch, and makes room for it. A rung whose blocks wait for each other passes its plan for
    /// batches of this size, which the kernel finds in the table.
    ///
    /// If the device is out of memory, no batch is loaded afterwards, and the buffers keep their sizes: the
    /// next batch finds room, or fails in the same way.
    pub(crate) fn load(&mut self, batch: &Batch<'_>, plan: Option<&Plan>) -> Result<()> {
        let before = std::mem::take(&mut self.batch);
        self.input.load(batch, None)?;
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

    /// Makes room for a batch in the buffers with a row for each sample: all rows for tensors that the rung
    /// writes, one element for those that it never writes.
    fn make_room(&mut self, batch: usize) -> Result<()> {
        let last = self.layers.len();
        for (layer, l) in self.layers.iter_mut().zip(1..) {
            let elements = batch * layer.outputs;
            let rows =
                |name| buffer(&self.stream, if self.rung.holds(name, last) { elements } else { 1 });
            layer.z = rows(TensorName::Z(l))?;
            layer.a = rows(TensorName::A(l))?;
            layer.da = rows(TensorName::Da(l))?;
            layer.dz = rows(TensorName::Dz(l))?;
        }
        self.p = buffer(&self.stream, batch * self.layers[last - 1].outputs)?;
        self.room_for_losses(batch)?;
        self.capacity = batch;
        Ok(())
    }

    /// Makes room for the losses of this many samples.
    pub(crate) fn room_for_losses(&mut self, samples: usize) -> Result<()> {
        grow(&self.stream, &mut self.losses, samples).map(|_| ())
    }

    /// Writes the table of all addresses to the device.
    fn write_table(&mut self, plan: Option<&Plan>) -> Result<()> {
        let stream = &self.stream;
        for (layer, partial) in self.layers.iter().zip(&mut self.partials) {
            if let (Some(plan), Rung::OneLaunch) = (plan, self.rung) {
                grow(stream, partial, plan.partial_sums(layer))?;
            }
        }
        let at = |buffer: &Buffer| buffer.device_ptr(stream).0;
        let layers = self.layers.iter().zip(&self.partials).enumerate();
        let records = layers.map(|(l, (layer, partial))| Record {
            m: layer.inputs as u32,
            n: layer.outputs as u32,
            per: plan.map_or(0, |plan| plan.per[l] as u32),
            w: at(&layer.w),
            b: at(&layer.b),
            z: at(&layer.z),
            a: at(&layer.a),
            da: at(&layer.da),
            dz: at(&layer.dz),
            dw: at(&layer.dw),
            db: at(&layer.db),
            partial: at(partial),
        });
        let words: Vec<u64> = records.flat_map(|record| record.words()).collect();
        Ok(stream.memcpy_htod(&words, &mut self.table)?)
    }

    /// The arguments of a launch over all layers. Fails if no batch is loaded.
    pub(crate) fn all_layers(&self, operation: &'static str) -> Result<AllLayers> {
        self.is_loaded(operation)?;
        let Self { layers, batch, .. } = self;
        let weights = layers.iter().map(|layer| layer.inputs * layer.outputs).sum();
        let units = layers.iter().map(|layer| layer.inputs + layer.outputs).sum();
        Ok(AllLayers {
            layers: layers.len() as u32,
            loss: loss_code(self.loss),
            batch: *batch as u32,
            n0: layers[0].inputs as u32,
            classes: layers[layers.len() - 1].outputs as u32,
            weights,
            units,
            numbers: weights + batch * units,
        })
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
}
