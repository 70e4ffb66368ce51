//! What a rung launches for the phases of a training step.

use data::Batch;
use gpu::Result;
use tensor::Network;

use crate::Plan;
use crate::state::State;

/// Phases of a training step; added up for more than one. Kernels that run several of them take this number.
pub(crate) type Phases = u32;

pub(crate) const FORWARD: Phases = 1;
pub(crate) const BACKWARD: Phases = 2;
pub(crate) const UPDATE: Phases = 4;
pub(crate) const STEP: Phases = FORWARD | BACKWARD | UPDATE;

/// What phases are called that run together.
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

    /// How batches of this size are cut, by rungs whose blocks wait for each other.
    ///
    /// # Errors
    /// If the device has no room for all blocks at once.
    fn plan(&mut self, _: &Network, _batch: usize) -> training::Result<Option<&Plan>> {
        Ok(None)
    }

    /// The most batches of one launch.
    fn at_once(&self) -> usize {
        1
    }

    /// A training step on each of these batches, in one launch. False, and nothing is done, if the rung or
    /// the device can't do that.
    fn steps(
        &mut self,
        _: &mut State,
        _batches: &[Batch<'_>],
        _learning_rate: f32,
    ) -> Result<bool> {
        Ok(false)
    }
}
