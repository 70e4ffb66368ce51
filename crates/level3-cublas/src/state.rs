//! The buffers of a training step, and the plans of its products.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use cudarc::driver::DevicePtr;
use data::Batch;
use gpu::transfer::Fixed;
use gpu::{Buffer, Gpu, Result};
use level2_cuda_naive::loss::Losses;
use tensor::{Network, TensorName};

use crate::Setup;
use crate::operations::Operations;
use crate::plan::LayerPlan;

/// All buffers of a training step, with the plans of its products.
pub(crate) struct State {
    /// The buffers that all levels on a GPU have.
    pub(crate) buffers: gpu::State,
    /// For every batch size so far, the plans of the layers' products.
    pub(crate) plans: HashMap<usize, Vec<LayerPlan>>,
    /// If the samples are a share of a larger batch, the size of that batch, which divides the gradients.
    pub(crate) whole: Option<usize>,
    pub(crate) losses: Losses,
}

impl State {
    /// All buffers of a network. The parameters are 0.
    pub(crate) fn new(
        gpu: &Gpu,
        on: &Operations,
        network: &Network,
        setup: &Setup,
    ) -> Result<Self> {
        let (stream, launcher) = (on.kernels.stream(), &on.kernels.launcher);
        let mut input = setup.transfer.start(gpu, launcher)?;
        if setup.graph {
            input = Box::new(Fixed::new(input, launcher)?);
        }
        let buffers = gpu::State::new(stream, network, input, |_| true)?;
        let (plans, losses) = (HashMap::new(), Losses::new(&on.kernels, network)?);
        Ok(Self { buffers, plans, whole: None, losses })
    }

    /// Loads a batch, or a share of a batch of `whole` samples; `next` is the following batch.
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
        // No batch counts as loaded until all buffers are large enough for it.
        self.buffers.batch = 0;
        self.buffers.input.load(batch, next)?;
        self.make_room(on, batch.len())?;
        (self.buffers.batch, self.whole) = (batch.len(), whole);
        Ok(())
    }

    /// Plans the products for batches of this size if there is no plan yet, and makes room for the tensors that
    /// are written.
    pub(crate) fn make_room(&mut self, on: &Operations, batch: usize) -> Result<()> {
        let Self { buffers, plans, .. } = self;
        let plans = match plans.entry(batch) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => new.insert(LayerPlan::all(on, &buffers.layers, batch)?),
        };
        buffers.make_room(batch, |name| is_written(plans, name))
    }

    /// The addresses of all buffers that may be reallocated for a later batch.
    pub(crate) fn addresses(&self) -> Vec<u64> {
        let gpu::State { layers, input, p, stream, .. } = &self.buffers;
        let address = |buffer: &Buffer| buffer.device_ptr(stream).0;
        let layers = layers.iter().flat_map(|layer| [&layer.z, &layer.a, &layer.da, &layer.dz]);
        let inputs = input.views().map(|view| view.device_ptr(stream).0);
        layers.chain([p]).map(address).chain(inputs).collect()
    }

    /// Whether this tensor of the loaded batch is written to memory, rather than consumed by an epilogue.
    pub(crate) fn is_written(&self, name: TensorName) -> bool {
        self.plans.get(&self.buffers.batch).is_none_or(|plans| is_written(plans, name))
    }
}

/// Whether this tensor is written to memory, rather than consumed by an epilogue.
fn is_written(plans: &[LayerPlan], name: TensorName) -> bool {
    match name {
        TensorName::Z(l) => !plans[l - 1].makes_a(),
        TensorName::Da(l) => !plans.get(l).is_some_and(LayerPlan::makes_dz),
        _ => true,
    }
}
