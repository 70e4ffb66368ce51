//! The update: plain stochastic gradient descent.

use gpu::Result;

use crate::kernels::Update;
use crate::state::State;

/// `w -= learning_rate · dw` and `b -= learning_rate · db` for every layer, only now that no
/// gradient needs the old weights any more.
pub(crate) fn update(on: &Update, state: &mut State, learning_rate: f32) -> Result<()> {
    for layer in &mut state.layers {
        on.update(&mut layer.w, &layer.dw, learning_rate)?;
        on.update(&mut layer.b, &layer.db, learning_rate)?;
    }
    Ok(())
}
