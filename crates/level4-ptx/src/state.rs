//! The buffers of a training step, and the table of their addresses for kernels that process all layers.

use cudarc::driver::{CudaSlice, DevicePtr};
use gpu::memory::{buffer, grow};
use gpu::transfer::Resident;
use gpu::{Buffer, Launcher, Layer, loss_code};
use tensor::Network;
use training::Result;

use crate::auto::check_sizes;
use crate::launches::Launches;
use crate::plan::partial_sums;
use crate::{Plan, Rung};

/// All buffers of a training step, with the plan of its launches.
pub(crate) struct State {
    /// The buffers that all levels on a GPU have. A tensor that the rung never writes has a buffer of one element.
    pub(crate) buffers: gpu::State<Resident>,
    pub(crate) rung: Rung,
    /// For each layer, the partial sums over the chunks of a batch, `[chunks, n, m]` and `[chunks, n]`.
    partials: Vec<Buffer>,
    /// The loss of each sample, `[B]`. After a launch with many batches, it has the losses of all their samples.
    pub(crate) losses: Buffer,
    /// The index of the loaded batch's first loss.
    pub(crate) losses_from: usize,
    /// A record for each layer, for kernels that process all layers.
    pub(crate) table: CudaSlice<u64>,
    /// The plan of the launches.
    pub(crate) plan: Plan,
    /// The batch size for which `plan` and `table` were made; 0 if there is no plan yet, or making it failed.
    planned: usize,
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
    /// The number of inputs and outputs, summed over all layers, for one sample.
    pub(crate) units: usize,
    /// The minimum of numbers that the launch has to move: all weights, and the inputs and outputs of all samples.
    pub(crate) numbers: usize,
}

impl State {
    /// All buffers of a network. The parameters are 0.
    pub(crate) fn new(on: &Launcher, network: &Network, rung: Rung) -> gpu::Result<Self> {
        let (stream, last) = (&on.stream, network.layers());
        let input = Box::new(Resident::copying(on)?);
        Ok(Self {
            buffers: gpu::State::new(stream, network, input, |name| rung.holds(name, last))?,
            rung,
            partials: (1..=last).map(|_| buffer(stream, 1)).collect::<gpu::Result<_>>()?,
            losses: buffer(stream, 1)?,
            losses_from: 0,
            table: stream.alloc_zeros(last * Record::WORDS)?,
            plan: Plan::default(),
            planned: 0,
        })
    }

    /// Sets the number of samples to `batch`. If it has changed, plans the launches, enlarges the buffers if needed,
    /// and writes the table. The samples may differ from the loaded batch's samples.
    ///
    /// If the device is out of memory, no batch is loaded afterwards. A smaller batch may still fit.
    pub(crate) fn make_room(&mut self, launches: &dyn Launches, batch: usize) -> Result<()> {
        // If anything below fails, no batch is loaded, and some buffers may have moved.
        self.buffers.batch = 0;
        self.losses_from = 0;
        if self.planned != batch {
            self.planned = 0;
            let network = &self.buffers.network;
            check_sizes(network, batch)?;
            self.plan = launches.plan(network, batch)?;
            grow(&self.buffers.stream, &mut self.losses, batch)?;
            let (rung, last) = (self.rung, self.buffers.layers.len());
            self.buffers.make_room(batch, |name| rung.holds(name, last))?;
            self.write_table()?;
            self.planned = batch;
        }
        self.buffers.batch = batch;
        Ok(())
    }

    /// Writes the table of all addresses to the device.
    fn write_table(&mut self) -> gpu::Result<()> {
        let gpu::State { stream, layers, .. } = &self.buffers;
        let address = |buffer: &Buffer| buffer.device_ptr(stream).0;
        let mut words = Vec::new();
        for (l, (layer, partial)) in layers.iter().zip(&mut self.partials).enumerate() {
            let Layer { inputs, outputs, w, b, z, a, da, dz, dw, db } = layer;
            if self.rung == Rung::OneLaunch {
                grow(stream, partial, partial_sums(self.plan.chunks, *inputs, *outputs))?;
            }
            let (m, n) = (*inputs as u32, *outputs as u32);
            let per = self.plan.per.get(l).map_or(0, |per| *per as u32);
            let [w, b, z, a, da, dz, dw, db, partial] =
                [w, b, z, a, da, dz, dw, db, partial].map(address);
            let record = Record { m, n, per, w, b, z, a, da, dz, dw, db, partial };
            words.extend(record.words());
        }
        Ok(stream.memcpy_htod(&words, &mut self.table)?)
    }

    /// The arguments and sizes of a launch over all layers. Fails if no batch is loaded.
    pub(crate) fn all_layers(&self, operation: &'static str) -> gpu::Result<AllLayers> {
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

/// The kernels' description of a layer: its sizes, and the addresses of its tensors on the device. In device memory a
/// record has 88 bytes, in the layout that the comment at the top of `ptx/thread_per_sample.ptx` describes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Record {
    /// The number of inputs of the layer.
    pub m: u32,
    /// The number of outputs (units) of the layer.
    pub n: u32,
    /// The number of units that a group of blocks computes; see [`Plan`](crate::Plan).
    pub per: u32,
    /// `[n, m]`.
    pub w: u64,
    /// `[n]`.
    pub b: u64,
    /// `[B, n]`.
    pub z: u64,
    /// `[B, n]`.
    pub a: u64,
    /// `[B, n]`.
    pub da: u64,
    /// `[B, n]`.
    pub dz: u64,
    /// `[n, m]`.
    pub dw: u64,
    /// `[n]`.
    pub db: u64,
    /// The partial sums of `dw`, `[chunks, n, m]`, followed by the partial sums of `db`, `[chunks, n]`.
    pub partial: u64,
}

impl Record {
    /// The number of 64-bit words in a record.
    pub const WORDS: usize = 11;

    /// The record as it is stored in device memory (little endian, as on every NVIDIA GPU).
    #[must_use]
    pub const fn words(&self) -> [u64; Self::WORDS] {
        let &Self { m, n, per, w, b, z, a, da, dz, dw, db, partial } = self;
        [m as u64 | (n as u64) << 32, per as u64, w, b, z, a, da, dz, dw, db, partial]
    }
}
