//! The forward pass: `z1 a1 … zL p`.

use gpu::{Result, State};
use tensor::Loss;

use crate::operations::Operations;

/// For each layer `z = a_prev · wᵀ + b` and `a = relu(z)`; at the last layer, `p` instead of `a`.
pub(crate) fn forward(on: &Operations, state: &mut State) -> Result<()> {
    let batch = state.batch;
    let last = state.layers.len() - 1;
    for l in 0..=last {
        let (before, rest) = state.layers.split_at_mut(l);
        let layer = &mut rest[0];
        let a_prev = before.last().map_or(state.input.x(), |previous| previous.a.as_view());

        on.matmul_a_bt(&a_prev, &layer.w, &mut layer.z, batch, layer.outputs, layer.inputs)?;
        on.add_bias(&mut layer.z, &layer.b, batch, layer.outputs)?;
        if l < last {
            on.relu(&layer.z, &mut layer.a, batch * layer.outputs)?;
        }
    }
    let (z, classes) = (&state.layers[last].z, state.layers[last].outputs);
    match state.loss {
        Loss::CrossEntropy => on.softmax(z, &mut state.p, batch, classes),
        Loss::Bce => on.sigmoid(z, &mut state.p, batch * classes),
        Loss::SquaredError => on.copy(z, &mut state.p, batch * classes),
    }
}
