//! A whole training step, as fused as the rung allows.

use gpu::Result;

use crate::backward::backward;
use crate::forward::forward;
use crate::kernels::Kernels;
use crate::one_launch::{BACKWARD, FORWARD, UPDATE};
use crate::state::State;
use crate::update::update;

/// Forward, backward and update.
pub(crate) fn step(kernels: &mut Kernels, state: &mut State, learning_rate: f32) -> Result<()> {
    match kernels {
        Kernels::ThreadPerSample(fused) => {
            fused.forward_backward(state)?;
            update(kernels, state, learning_rate)
        }
        Kernels::Tiled(_) => {
            forward(kernels, state)?;
            backward(kernels, state)?;
            update(kernels, state, learning_rate)
        }
        Kernels::OneLaunch(kernel) => {
            kernel.step(state, learning_rate, FORWARD | BACKWARD | UPDATE, "step")
        }
    }
}
