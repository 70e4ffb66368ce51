//! The trait [`Launches`]: how a rung launches the phases of a training step.

use data::Batch;
use gpu::Result;
use gpu::phases::{BACKWARD, FORWARD, Phases, UPDATE};
use tensor::Network;

use crate::Plan;
use crate::state::State;

/// The name of phases that run together.
pub(crate) const fn name(phases: Phases) -> &'static str {
    match phases {
        FORWARD => "forward",
        BACKWARD => "backward",
        UPDATE => "update",
        _ => "step",
    }
}

/// The loaded kernels of a rung, and how they are launched.
pub(crate) trait Launches {
    /// Runs phases of a training step on the loaded batch: as fused as the rung allows.
    fn launch(&mut self, state: &mut State, phases: Phases, learning_rate: f32) -> Result<()>;

    /// The plan for batches of this size, for rungs whose blocks wait for each other.
    ///
    /// # Errors
    /// If the blocks don't all fit onto the device at once.
    fn plan(&mut self, _: &Network, _batch: usize) -> training::Result<Option<&Plan>> {
        Ok(None)
    }

    /// The most batches that one launch takes.
    fn at_once(&self) -> usize {
        1
    }

    /// Runs a training step on each of these batches, in one launch. Returns false and does nothing if
    /// the rung can't do that, or the batches aren't on the device.
    fn steps(&mut self, _: &mut State, _: &[Batch<'_>], _learning_rate: f32) -> Result<bool> {
        Ok(false)
    }
}
