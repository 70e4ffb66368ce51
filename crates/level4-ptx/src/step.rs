//! What a rung launches for each phase of a training step. The second rung, and those that only have
//! other products, launch an operation at a time, as `forward`, `backward` and `update` say; the
//! others have all layers in one kernel.

use gpu::Result;

use crate::backward::backward;
use crate::forward::forward;
use crate::kernels::Kernels;
use crate::one_launch::{BACKWARD, FORWARD, UPDATE};
use crate::state::State;
use crate::update::update;

impl Kernels {
    /// `z1 a1 … zL p`, and the loss of each sample.
    pub(crate) fn forward(&mut self, state: &mut State) -> Result<()> {
        match self {
            Self::ThreadPerSample(on) => on.forward(state),
            Self::Tiled(on) => forward(on, state),
            Self::OneLaunch(on) => on.step(state, 0.0, FORWARD, "forward"),
            Self::WholeEpoch(on) => on.step(state, 0.0, FORWARD, "forward"),
        }
    }

    /// `dzL dwL dbL … dz1 dw1 db1`.
    pub(crate) fn backward(&mut self, state: &mut State) -> Result<()> {
        match self {
            Self::ThreadPerSample(on) => on.backward(state),
            Self::Tiled(on) => {
                // `dw` has its size without a batch, too.
                state.is_loaded("backward")?;
                backward(on, state)
            }
            Self::OneLaunch(on) => on.step(state, 0.0, BACKWARD, "backward"),
            Self::WholeEpoch(on) => on.step(state, 0.0, BACKWARD, "backward"),
        }
    }

    /// The parameters after the step.
    pub(crate) fn update(&mut self, state: &mut State, learning_rate: f32) -> Result<()> {
        match self {
            Self::ThreadPerSample(on) => update(&on.update, state, learning_rate),
            Self::Tiled(on) => update(&on.update, state, learning_rate),
            Self::OneLaunch(on) => on.step(state, learning_rate, UPDATE, "update"),
            Self::WholeEpoch(on) => on.step(state, learning_rate, UPDATE, "update"),
        }
    }

    /// All three, as fused as the rung allows.
    pub(crate) fn step(&mut self, state: &mut State, learning_rate: f32) -> Result<()> {
        match self {
            Self::ThreadPerSample(on) => on.forward_backward(state)?,
            Self::Tiled(on) => {
                forward(on, state)?;
                backward(on, state)?;
            }
            Self::OneLaunch(on) => {
                return on.step(state, learning_rate, FORWARD | BACKWARD | UPDATE, "step");
            }
            Self::WholeEpoch(on) => {
                return on.step(state, learning_rate, FORWARD | BACKWARD | UPDATE, "steps");
            }
        }
        self.update(state, learning_rate)
    }
}
