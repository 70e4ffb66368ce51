//! The update: plain stochastic gradient descent.

use crate::operations;
use crate::state::State;

// ANCHOR: update
/// `w -= learning_rate · dw` and `b -= learning_rate · db` for every layer. This has to come last,
/// because all gradients need the old weights.
pub(crate) fn update(state: &mut State, learning_rate: f32) {
    for layer in &mut state.layers {
        operations::update(&mut layer.w, &layer.dw, learning_rate);
        operations::update(&mut layer.b, &layer.db, learning_rate);
    }
}
// ANCHOR_END: update
