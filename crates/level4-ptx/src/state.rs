//! The buffers that a training step reads and writes: their layout and their lifetimes.
//! They stay on the device; the host has no copies.

use std::mem::take;
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
    /// The layers, first to last. A tensor that the rung never writes has a buffer of one element.
    pub(crate) layers: Vec<Layer>,
    /// For each layer, the sums over the chunks of a batch, `[chunks, n, m]` and `[chunks, n]`.
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
    /// The index of the loaded batch's first loss.
    pub(crate) losses_from: usize,
    /// A record for each layer, for kernels that process all layers.
    pub(crate) table: CudaSlice<u64>,
    /// The largest batch that fits into the buffers.
    capacity: usize,
    stream: Arc<CudaStream>,
}

/// Arguments and sizes of a launch over all layers.
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
    /// The weights, and the units of all samples: the minimum of numbers that the launch moves.
    pub(crate) numbers: usize,
}

impl State {
    /// All buffers of a network, at first for batches of one sample. The parameters are 0.
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

    /// Copies the training set to the device, and unloads the batch: the next step needs another one.
    pub(crate) fn dataset(&mut self, set: &Dataset) -> Result<()> {
        self.batch = 0;
        self.input.dataset(set)
    }

    /// Loads a batch and enlarges the buffers if needed. A rung whose blocks wait for each other passes its
    /// plan for batches of this size, which the kernel finds in the table.
    ///
    /// If the device is out of memory, no batch is loaded afterwards. A smaller batch may still fit.
    pub(crate) fn load(&mut self, batch: &Batch<'_>, plan: Option<&Plan>) -> Result<()> {
        let before = take(&mut self.batch);
        self.input.load(batch, None)?;
        self.batch = before;
        self.make_room(batch.len(), plan)
    }

    /// Makes `batch` the number of samples, enlarges the buffers if needed, and writes the table again if
    /// this number has changed. The samples themselves may be elsewhere than the loaded batch.
    pub(crate) fn make_room(&mut self, batch: usize, plan: Option<&Plan>) -> Result<()> {
        // If anything below fails, no batch is loaded.
        let before = take(&mut self.batch);
        self.losses_from = 0;
        if batch > self.capacity {
            let (last, stream) = (self.layers.len(), &self.stream);
            for (layer, l) in self.layers.iter_mut().zip(1..) {
                let elements = batch * layer.outputs;
                let rows =
                    |name| buffer(stream, if self.rung.holds(name, last) { elements } else { 1 });
                layer.z = rows(TensorName::Z(l))?;
                layer.a = rows(TensorName::A(l))?;
                layer.da = rows(TensorName::Da(l))?;
                layer.dz = rows(TensorName::Dz(l))?;
            }
            self.p = buffer(stream, batch * self.layers[last - 1].outputs)?;
            self.make_room_for_losses(batch)?;
            self.capacity = batch;
        }
        if before != batch {
            self.write_table(plan)?;
        }
        self.batch = batch;
        Ok(())
    }

    /// Enlarges the buffer of losses to this number of samples if it is smaller.
    pub(crate) fn make_room_for_losses(&mut self, samples: usize) -> Result<()> {
        grow(&self.stream, &mut self.losses, samples).map(|_| ())
    }

    /// Writes the table of all addresses to the device.
    fn write_table(&mut self, plan: Option<&Plan>) -> Result<()> {
        let stream = &self.stream;
        let address = |buffer: &Buffer| buffer.device_ptr(stream).0;
        let mut words = Vec::new();
        for (l, (layer, partial)) in self.layers.iter().zip(&mut self.partials).enumerate() {
            if let (Some(plan), Rung::OneLaunch) = (plan, self.rung) {
                grow(stream, partial, plan.partial_sums(layer))?;
            }
            let record = Record {
                m: layer.inputs as u32,
                n: layer.outputs as u32,
                per: plan.map_or(0, |plan| plan.per[l] as u32),
                w: address(&layer.w),
                b: address(&layer.b),
                z: address(&layer.z),
                a: address(&layer.a),
                da: address(&layer.da),
                dz: address(&layer.dz),
                dw: address(&layer.dw),
                db: address(&layer.db),
                partial: address(partial),
            };
            words.extend(record.words());
        }
        Ok(stream.memcpy_htod(&words, &mut self.table)?)
    }

    /// The arguments and sizes of a launch over all layers. Fails if no batch is loaded.
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

    /// Fails if no batch is loaded.
    pub(crate) fn is_loaded(&self, operation: &'static str) -> Result<()> {
        if self.batch == 0 { Err(GpuError::NoBatch { operation }) } else { Ok(()) }
    }
}
