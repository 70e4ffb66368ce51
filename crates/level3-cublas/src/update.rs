//! The update: plain stochastic gradient descent.

use gpu::{Result, State};

use crate::operations::Operations;

/// `w -= learning_rate · dw` and `b -= learning_rate · db` for every layer. This has to come last,
/// because all gradients need the old weights.
pub(crate) fn update(on: &Operations, state: &mut State, learning_rate: f32) -> Result<()> {
    for layer in &mut state.layers {
        let (weights, units) = (layer.outputs * layer.inputs, layer.outputs);
        on.kernels.update(&mut layer.w, &layer.dw, learning_rate, weights)?;
        on.kernels.update(&mut layer.b, &layer.db, learning_rate, units)?;
    }
    Ok(())
}
