//! The third rung: the one launch of `ptx/one_launch.ptx`.

use gpu::phases::{BACKWARD, FORWARD, Phases};
use gpu::transfer::Transfer;
use gpu::{Read, Result, Write, launch};
use tensor::Network;
use training::Error;

use crate::cooperative::{Cooperative, shape};
use crate::kernels::Loader;
use crate::state::{AllLayers, State};
use crate::step::{self, Launches};
use crate::{Plan, Record};

/// The parameters of `step`: the table, the number of layers, the loss, `x`, `y`, `p`, the losses, the
/// number of samples, the learning rate, the phases, chunks, groups, whether weights are on chip, and the
/// barrier.
type Step = (Read, u32, u32, Read, Read, Write, Write, u32, f32, Phases, u32, u32, u32, Write);

/// The kernel of the third rung.
pub(crate) struct OneLaunch(Cooperative<Step>);

impl OneLaunch {
    pub(crate) fn boxed(from: &Loader<'_>) -> Result<Box<dyn Launches>> {
        Ok(Box::new(Self(Cooperative::load(from, "step", Plan::new)?)))
    }
}

impl Launches for OneLaunch {
    fn launch(&mut self, state: &mut State, phases: Phases, learning_rate: f32) -> Result<()> {
        let name = step::name(phases);
        let AllLayers { layers, loss, batch, n0, classes, weights, numbers, .. } =
            state.all_layers(name)?;
        let flops = 2 * (phases & FORWARD) + 2 * (phases & BACKWARD);
        let plan = self.0.planned(state.buffers.batch, name)?;
        let (chunks, groups) = (plan.chunks as u32, plan.groups as u32);
        let on_chip = u32::from(plan.on_chip);
        let State { buffers: gpu::State { input, p, .. }, table, losses, .. } = state;
        let (x, y, on, barrier) =
            (&input.x(), &input.y(), self.0.kernel.renamed(name), &mut self.0.barrier);
        launch!(cooperative on.function, shape(&plan), flops[flops * weights * batch] bytes[4 * numbers],
            read table[layers * (Record::WORDS)], layers, loss, read x[batch * n0],
            read y[batch * classes], write p[batch * classes], write losses[batch], batch,
            learning_rate, phases, chunks, groups, on_chip, update barrier[1])
    }

    fn plan(&mut self, network: &Network, batch: usize) -> training::Result<Option<&Plan>> {
        self.0.plan(network, batch).map(Some).ok_or_else(|| {
            Error::Usage(format!(
                "the device can't hold all blocks of one launch for {network} and batches of {batch} at \
                 once, and they wait for each other: choose --kernels tiled"
            ))
        })
    }
}
