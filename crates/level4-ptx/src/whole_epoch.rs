//! The fifth rung: many training steps in the one launch of `ptx/whole_epoch.ptx`.

use cudarc::driver::CudaSlice;
use data::Batch;
use gpu::transfer::{Found, Transfer};
use gpu::{Read, Result, Write, launch};
use tensor::Network;
use training::Error;

use crate::cooperative::{Cooperative, shape};
use crate::kernels::Loader;
use crate::state::{AllLayers, State};
use crate::step::{self, BACKWARD, FORWARD, Launches, Phases, STEP};
use crate::{Plan, Record};

/// The parameters of `steps`: the table, the number of layers, the loss, `x`, `y`, `p`, the losses, the
/// order of the rows, the number of samples, the batch size, the learning rate, the phases, the offset of
/// a batch's rows on chip, and the barrier.
type Steps = (Read, u32, u32, Read, Read, Write, Write, Read, u32, u32, f32, Phases, u32, Write);

/// The kernel of this rung.
pub(crate) struct WholeEpoch {
    together: Cooperative<Steps>,
    /// Which row of the training set each sample of a launch is.
    order: CudaSlice<u32>,
    /// The most batches of a launch.
    at_once: usize,
}

impl WholeEpoch {
    pub(crate) fn load(from: &Loader<'_>) -> Result<Box<dyn Launches>> {
        let order = from.launcher.stream.alloc_zeros(1)?;
        // Ctrl-C only takes effect between launches: on hardware within milliseconds.
        let at_once = if from.gpu.is_emulated() { 64 } else { 1024 };
        let together = Cooperative::load(from, "steps", Plan::of_an_epoch)?;
        Ok(Box::new(Self { together, order, at_once }))
    }

    /// Runs phases on these batches, all of the size that was passed to [`State::expect`], except that
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
        let plan = self.together.planned(state.batch, name)?;
        let State { input, table, p, losses, .. } = state;
        let found = if batches.is_empty() {
            Some(Found { x: input.x(), y: input.y(), rows: batch as usize, order: None })
        } else {
            input.find(batches)
        };
        let Some(Found { x, y, rows, order }) = found else { return Ok(false) };
        if let Some(order) = &order {
            let stream = &self.together.on.launcher.stream;
            if self.order.len() < order.len() {
                self.order = stream.alloc_zeros(order.len())?;
            }
            stream.memcpy_htod(order, &mut self.order.slice_mut(..order.len()))?;
        }
        let samples = match batches {
            [] => batch,
            _ => batches.iter().map(Batch::len).sum::<usize>() as u32,
        };
        // A product forward and two backward, less the gradient of `x`; each weight comes and goes once.
        let flops = 2 * (phases & FORWARD) + 2 * (phases & BACKWARD);
        let numbers = 2 * weights + samples as usize * units;
        // The rows of a batch come after everything else on chip.
        let rows_at = plan.shared as u32 - 4 * batch;
        // Without an order, row i is sample i.
        let order = order.is_some().then_some(&self.order);
        let (x, y, on) = (&x, &y, self.together.on.called(name));
        let barrier = &mut self.together.barrier;
        launch!(cooperative on.kernel, shape(&plan), flops[flops * weights * samples] bytes[4 * numbers],
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

    /// The weights of hidden layers have to fit on chip, in blocks that are all there at once.
    fn plan(&mut self, network: &Network, batch: usize) -> training::Result<Option<&Plan>> {
        self.together.plan(network, batch).map(Some).ok_or_else(|| {
            let hidden = network.layers() - 1;
            let weights: usize =
                network.sizes.windows(2).take(hidden).map(|n| n[0] * n[1]).sum();
            Error::Usage(format!(
                "{network}, batches of {batch}: the device can't keep {} kB of hidden weights on chip, in \
                 blocks that are all there at once: choose --kernels one-launch",
                (weights * size_of::<f32>()).div_ceil(1000)
            ))
        })
    }

    fn at_once(&self) -> usize {
        self.at_once
    }

    fn steps(
        &mut self,
        state: &mut State,
        batches: &[Batch<'_>],
        learning_rate: f32,
    ) -> Result<bool> {
        state.room_for_losses(batches.iter().map(Batch::len).sum())?;
        self.run(state, batches, STEP, learning_rate)
    }
}
