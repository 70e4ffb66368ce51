//! The fifth rung: many training steps in the one launch of `ptx/whole_epoch.ptx`.

use cudarc::driver::CudaSlice;
use data::Batch;
use gpu::memory::grow;
use gpu::phases::{BACKWARD, FORWARD, Phases, STEP};
use gpu::transfer::{SamplesOnDevice, Transfer};
use gpu::{Read, Result, Write, launch};
use tensor::Network;
use training::Error;

use crate::cooperative::{Cooperative, shape};
use crate::kernels::Loader;
use crate::state::{AllLayers, State};
use crate::step::{self, Launches};
use crate::{Plan, Record};

/// The parameters of `steps`: the table, the number of layers, the loss, `x`, `y`, `p`, the losses, the
/// order of the rows, the number of samples, the batch size, the learning rate, the phases, the offset of
/// a batch's rows on chip, and the barrier.
type Steps = (Read, u32, u32, Read, Read, Write, Write, Read, u32, u32, f32, Phases, u32, Write);

/// The kernel of this rung.
pub(crate) struct WholeEpoch {
    cooperative: Cooperative<Steps>,
    /// For each sample of a launch, its row in the training set.
    order: CudaSlice<u32>,
    /// The most batches of a launch.
    at_once: usize,
}

impl WholeEpoch {
    pub(crate) fn boxed(from: &Loader<'_>) -> Result<Box<dyn Launches>> {
        let order = from.launcher.stream.alloc_zeros(1)?;
        // Ctrl-C only takes effect between launches: on hardware within milliseconds.
        let at_once = if from.gpu.is_emulated() { 64 } else { 1024 };
        let cooperative = Cooperative::load(from, "steps", Plan::for_epoch)?;
        Ok(Box::new(Self { cooperative, order, at_once }))
    }

    /// Runs phases on these batches, all of the size that was passed to [`State::make_room`], except that
    /// the last may be smaller. If `batches` is empty, runs them on the loaded batch. Returns false and
    /// does nothing if the device doesn't have the batches.
    fn run(
        &mut self,
        state: &mut State,
        batches: &[Batch<'_>],
        phases: Phases,
        learning_rate: f32,
    ) -> Result<bool> {
        let name = if phases == STEP { "steps" } else { step::name(phases) };
        let AllLayers { layers, loss, batch, n0, classes, weights, units, .. } =
            state.all_layers(name)?;
        let plan = self.cooperative.planned(state.buffers.batch, name)?;
        let State { buffers: gpu::State { input, p, .. }, table, losses, .. } = state;
        let (x, y, rows) = (input.x(), input.y(), batch as usize);
        let (samples, found) = match batches {
            [] => (batch, Some(SamplesOnDevice { x, y, rows, order: None })),
            _ => (batches.iter().map(Batch::len).sum::<usize>() as u32, input.find(batches)),
        };
        let Some(SamplesOnDevice { x, y, rows, order }) = &found else { return Ok(false) };
        if let Some(order) = order {
            let stream = &self.cooperative.kernel.launcher.stream;
            grow(stream, &mut self.order, order.len())?;
            stream.memcpy_htod(order, &mut self.order.slice_mut(..order.len()))?;
        }
        // Each weight is loaded once and stored once.
        let numbers = 2 * weights + samples as usize * units;
        let flops = 2 * (phases & FORWARD) + 2 * (phases & BACKWARD);
        // The last part of shared memory has the row numbers of a batch.
        let rows_at = plan.shared as u32 - 4 * batch;
        // Without an order, row i is sample i.
        let (rows, order) = (*rows, order.is_some().then_some(&self.order));
        let on = self.cooperative.kernel.renamed(name);
        let barrier = &mut self.cooperative.barrier;
        launch!(cooperative on.function, shape(&plan), flops[flops * weights * samples] bytes[4 * numbers],
            read table[layers * (Record::WORDS)], layers, loss, read x[rows * n0],
            read y[rows * classes], write p[batch * classes], write losses[samples],
            read order[samples], samples, batch, learning_rate, phases, rows_at, update barrier[1])?;
        Ok(true)
    }
}

impl Launches for WholeEpoch {
    fn launch(&mut self, state: &mut State, phases: Phases, learning_rate: f32) -> Result<()> {
        self.run(state, &[], phases, learning_rate).map(|_| ())
    }

    /// The weights of the hidden layers have to fit on chip, with all blocks resident at the same time.
    fn plan(&mut self, network: &Network, batch: usize) -> training::Result<Option<&Plan>> {
        self.cooperative.plan(network, batch).map(Some).ok_or_else(|| {
            let hidden = network.sizes.windows(2).take(network.layers() - 1);
            let weights: usize = hidden.map(|n| n[0] * n[1]).sum();
            Error::Usage(format!(
                "{network}, batches of {batch}: the device can't keep {} kB of hidden weights on chip with \
                 all blocks resident: choose --kernels one-launch",
                (weights * size_of::<f32>()).div_ceil(1000)
            ))
        })
    }

    fn at_once(&self) -> usize {
        self.at_once
    }

    fn steps(&mut self, state: &mut State, batches: &[Batch<'_>], rate: f32) -> Result<bool> {
        state.make_room_for_losses(batches.iter().map(Batch::len).sum())?;
        self.run(state, batches, STEP, rate)
    }
}
