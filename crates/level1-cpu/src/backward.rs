//! The backward pass: `dzL dwL dbL da(L-1) … dz1 dw1 db1`.

use crate::operations::{matmul_a_b, matmul_at_b, output_gradient, relu_backward, sum_batch};
use crate::state::State;

// ANCHOR: backward
/// From the last layer to the first: `dw = dzᵀ · a_prev` and `db = Σ_batch dz`; then, for the
/// layer before, `da = dz · w` and `dz = da` where its `z` was positive.
pub(crate) fn backward(state: &mut State) {
    let batch = state.batch;
    let last = state.layers.len() - 1;
    let classes = state.layers[last].outputs;
    output_gradient(&state.p, &state.y, &mut state.layers[last].dz, classes);
    for l in (0..=last).rev() {
        let (before, rest) = state.layers.split_at_mut(l);
        let layer = &mut rest[0];
        let a_prev = before.last().map_or(state.input.x(), |previous| &previous.a);

        // ANCHOR: layer
        matmul_at_b(&layer.dz, a_prev, &mut layer.dw, layer.outputs, layer.inputs, batch);
        sum_batch(&layer.dz, &mut layer.db);
        if let Some(previous) = before.last_mut() {
            matmul_a_b(&layer.dz, &layer.w, &mut previous.da, batch, layer.inputs, layer.outputs);
            relu_backward(&previous.da, &previous.z, &mut previous.dz);
        }
        // ANCHOR_END: layer
    }
}
// ANCHOR_END: backward
