//! The update: plain stochastic gradient descent.

use gpu::Result;

use crate::kernels::Kernels;
use crate::one_launch::UPDATE;
use crate::state::State;

/// `w -= learning_rate · dw` and `b -= learning_rate · db` for every layer, only now that no
/// gradient needs the old weights any more.
pub(crate) fn update(kernels: &mut Kernels, state: &mut State, learning_rate: f32) -> Result<()> {
    match kernels {
        Kernels::ThreadPerSample(kernels) => {
            for layer in &mut state.layers {
                kernels.update(&mut layer.w, &layer.dw, learning_rate)?;
                kernels.update(&mut layer.b, &layer.db, learning_rate)?;
            }
            Ok(())
        }
        Kernels::Tiled(kernels) => {
            for layer in &mut state.layers {
                kernels.update(&mut layer.w, &layer.dw, learning_rate)?;
                kernels.update(&mut layer.b, &layer.db, learning_rate)?;
            }
            Ok(())
        }
        Kernels::OneLaunch(kernel) => kernel.step(state, learning_rate, UPDATE, "update"),
    }
}
