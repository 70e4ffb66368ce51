//! The buffers of a training step, and the table in which kernels that process all layers find them.

use std::mem::take;

use cudarc::driver::{CudaSlice, DevicePtr};
use data::Batch;
use gpu::memory::{buffer, grow};
use gpu::transfer::{Resident, Transfer};
use gpu::{Buffer, Launcher, Result, loss_code};
use tensor::Network;

use crate::plan::partial_sums;
use crate::{Plan, Record, Rung};

/// Everything a training step touches.
pub(crate) struct State {
    /// The buffers of all levels. A tensor that the rung never writes has a buffer of one element.
    pub(crate) buffers: gpu::State<Resident>,
    pub(crate) rung: Rung,
    /// For each layer, the sums over the chunks of a batch, `[chunks, n, m]` and `[chunks, n]`.
    partials: Vec<Buffer>,
    /// The loss of each sample, `[B]`; after a launch of many batches, of all their samples.
    pub(crate) losses: Buffer,
    /// The index of the loaded batch's first loss.
    pub(crate) losses_from: usize,
    /// A record for each layer, for kernels that process all layers.
    pub(crate) table: CudaSlice<u64>,
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
    /// All buffers of a network. The parameters are 0.
    pub(crate) fn new(on: &Launcher, network: &Network, rung: Rung) -> Result<Self> {
        let (stream, last) = (&on.stream, network.layers());
        let input = Box::new(Resident::copying(on)?);
        Ok(Self {
            buffers: gpu::State::new(stream, network, input, |name| rung.holds(name, last))?,
            rung,
            partials: (1..=last).map(|_| buffer(stream, 1)).collect::<Result<_>>()?,
            losses: buffer(stream, 1)?,
            losses_from: 0,
            table: stream.alloc_zeros(last * Record::WORDS)?,
        })
    }

    /// Loads a batch and enlarges the buffers if needed. A rung whose blocks wait for each other passes its
    /// plan for batches of this size, which the kernel finds in the table.
    ///
    /// If the device is out of memory, no batch is loaded afterwards. A smaller batch may still fit.
    pub(crate) fn load(&mut self, batch: &Batch<'_>, plan: Option<&Plan>) -> Result<()> {
        let before = take(&mut self.buffers.batch);
        self.buffers.input.load(batch, None)?;
        self.buffers.batch = before;
        self.make_room(batch.len(), plan)
    }

    /// Makes `batch` the number of samples, enlarges the buffers if needed, and writes the table again if
    /// this number has changed. The samples themselves may be elsewhere than the loaded batch.
    pub(crate) fn make_room(&mut self, batch: usize, plan: Option<&Plan>) -> Result<()> {
        // If anything below fails, no batch is loaded.
        let before = take(&mut self.buffers.batch);
        self.losses_from = 0;
        self.make_room_for_losses(batch)?;
        let (rung, last) = (self.rung, self.buffers.layers.len());
        self.buffers.make_room(batch, |name| rung.holds(name, last))?;
        if before != batch {
            self.write_table(plan)?;
        }
        self.buffers.batch = batch;
        Ok(())
    }

    /// Enlarges the buffer of losses to this number of samples if it is smaller.
    pub(crate) fn make_room_for_losses(&mut self, samples: usize) -> Result<()> {
        grow(&self.buffers.stream, &mut self.losses, samples)
    }

    /// Writes the table of all addresses to the device.
    fn write_table(&mut self, plan: Option<&Plan>) -> Result<()> {
        let gpu::State { stream, layers, .. } = &self.buffers;
        let address = |buffer: &Buffer| buffer.device_ptr(stream).0;
        let mut words = Vec::new();
        for (l, (layer, partial)) in layers.iter().zip(&mut self.partials).enumerate() {
            if let (Some(plan), Rung::OneLaunch) = (plan, self.rung) {
                grow(stream, partial, partial_sums(plan.chunks, layer.inputs, layer.outputs))?;
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
        self.buffers.is_loaded(operation)?;
        let gpu::State { layers, loss, batch, .. } = &self.buffers;
        let weights = layers.iter().map(|layer| layer.inputs * layer.outputs).sum();
        let units = layers.iter().map(|layer| layer.inputs + layer.outputs).sum();
        Ok(AllLayers {
            layers: layers.len() as u32,
            loss: loss_code(*loss),
            batch: *batch as u32,
            n0: layers[0].inputs as u32,
            classes: layers[layers.len() - 1].outputs as u32,
            weights,
            units,
            numbers: weights + batch * units,
        })
    }
}
