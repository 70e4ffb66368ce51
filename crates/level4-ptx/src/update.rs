//! The update: plain stochastic gradient descent.

use gpu::transfer::Resident;
use gpu::{Result, State};

use crate::launches::Update;

/// `w -= learning_rate · dw` and `b -= learning_rate · db` for every layer. This has to come last,
/// because all gradients need the old weights.
pub(crate) fn update(on: &Update, state: &mut State<Resident>, learning_rate: f32) -> Result<()> {
    for layer in &mut state.layers {
        let (m, n) = (layer.inputs as u32, layer.outputs as u32);
        on.update(&mut layer.w, &layer.dw, n * m, learning_rate)?;
        on.update(&mut layer.b, &layer.db, n, learning_rate)?;
    }
    Ok(())
}
