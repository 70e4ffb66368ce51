//! The buffers: what a training step reads and writes, how it is laid out, and how long it lives.
//! All of it stays on the device; the host holds none of these numbers.
#![allow(unsafe_code, reason = "memory is allocated without writing it")]

use std::sync::Arc;

use cudarc::driver::{CudaSlice, CudaStream, DevicePtr};
use data::{Batch, Dataset};
use gpu::Result;
use tensor::{Loss, Network, TensorName};
use training::Parameters;

use crate::input::Input;
use crate::kernels::Launcher;
use crate::{Buffer, Plan, Record, Rung};

/// Everything a training step touches. Each buffer is flat and row-major, and is reused from
/// batch to batch: memory is allocated only for a batch larger than any before.
pub(crate) struct State {
    rung: Rung,
    /// The layers, first to last.
    pub(crate) layers: Vec<Layer>,
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

/// One layer, `n` units on `m` inputs. What the rung never writes holds one element.
pub(crate) struct Layer {
    /// `m`.
    pub(crate) inputs: usize,
    /// `n`.
    pub(crate) outputs: usize,

    // These live as long as the training: read by every step, written by its update.
    /// Weights, `[n, m]`.
    pub(crate) w: Buffer,
    /// Biases, `[n]`.
    pub(crate) b: Buffer,

    // These live for one step: written by the forward pass, read by the backward pass.
    /// `[B, n]`.
    pub(crate) z: Buffer,
    /// `relu(z)`, `[B, n]`.
    pub(crate) a: Buffer,

    // These live for one step too: written by the backward pass, the last three read by the update.
    /// `[B, n]`.
    pub(crate) da: Buffer,
    /// `[B, n]`.
    pub(crate) dz: Buffer,
    /// `[n, m]`.
    pub(crate) dw: Buffer,
    /// `[n]`.
    pub(crate) db: Buffer,
    /// Sums over the chunks of a batch, `[chunks, n, m]` and `[chunks, n]`.
    pub(crate) partial: Buffer,
}

impl State {
    /// All buffers of a network, for batches of one sample at first. The parameters are 0.
    pub(crate) fn new(on: &Launcher, network: &Network, rung: Rung) -> Result<Self> {
        let stream = &on.stream;
        let last = network.layers();
        let layer = |l: usize| {
            let (m, n) = (network.sizes[l - 1], network.sizes[l]);
            let gradients = rung.holds(TensorName::Dw(l), last);
            let one = || buffer(stream, 1);
            Ok(Layer {
                inputs: m,
                outputs: n,
                w: stream.alloc_zeros(n * m)?,
                b: stream.alloc_zeros(n)?,
                z: one()?,
                a: one()?,
                da: one()?,
                dz: one()?,
                dw: buffer(stream, if gradients { n * m } else { 1 })?,
                db: buffer(stream, if gradients { n } else { 1 })?,
                partial: one()?,
            })
        };
        Ok(Self {
            rung,
            layers: (1..=last).map(layer).collect::<Result<_>>()?,
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

    /// Takes in the training set.
    pub(crate) fn dataset(&mut self, set: &Dataset) -> Result<()> {
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
        for (layer, l) in self.layers.iter_mut().zip(1..) {
            let rows = |name| {
                let held = self.rung.holds(name, last);
                buffer(&self.stream, if held { batch * layer.outputs } else { 1 })
            };
            layer.z = rows(TensorName::Z(l))?;
            layer.a = rows(TensorName::A(l))?;
            layer.da = rows(TensorName::Da(l))?;
            layer.dz = rows(TensorName::Dz(l))?;
        }
        let classes = self.layers[last - 1].outputs;
        self.p = buffer(&self.stream, batch * classes)?;
        self.room_for_losses(batch)?;
        self.capacity = batch;
        Ok(())
    }

    /// Makes room for the losses of so many samples.
    pub(crate) fn room_for_losses(&mut self, samples: usize) -> Result<()> {
        if self.losses.len() < samples {
            self.losses = buffer(&self.stream, samples)?;
        }
        Ok(())
    }

    /// Tells the device where everything is.
    fn write_table(&mut self, plan: Option<&Plan>) -> Result<()> {
        let mut words = Vec::new();
        for (l, layer) in self.layers.iter_mut().enumerate() {
            if let (Some(plan), Rung::OneLaunch) = (plan, self.rung) {
                let elements = plan.chunks * layer.outputs * (layer.inputs + 1);
                if layer.partial.len() < elements {
                    layer.partial = buffer(&self.stream, elements)?;
                }
            }
            let at = |buffer: &Buffer| buffer.device_ptr(&self.stream).0;
            let record = Record {
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
                partial: at(&layer.partial),
            };
            words.extend(record.words());
        }
        Ok(self.stream.memcpy_htod(&words, &mut self.table)?)
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

/// So many elements of the device's memory, which hold nothing yet: a kernel that read one before
/// another has written it would be at fault, and the emulated GPU's check would say so.
pub(crate) fn buffer(stream: &Arc<CudaStream>, elements: usize) -> Result<Buffer> {
    // SAFETY: every pattern of bits is an f32.
    Ok(unsafe { stream.alloc(elements) }?)
}
