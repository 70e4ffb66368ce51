//! The forward pass: `z1 a1 … zL p`.

use tensor::Loss;

use crate::operations::{add_bias, matmul_a_bt, relu, sigmoid, softmax};
use crate::state::State;

// ANCHOR: forward
/// For each layer `z = a_prev · wᵀ + b` and `a = relu(z)`; at the last one, `p` instead.
pub(crate) fn forward(state: &mut State) {
    let batch = state.batch;
    let last = state.layers.len() - 1;
    for l in 0..=last {
        let (before, rest) = state.layers.split_at_mut(l);
        let layer = &mut rest[0];
        let a_prev = before.last().map_or(state.input.x(), |previous| &previous.a);

        matmul_a_bt(a_prev, &layer.w, &mut layer.z, batch, layer.outputs, layer.inputs);
        add_bias(&mut layer.z, &layer.b);
        if l < last {
            relu(&layer.z, &mut layer.a);
        }
    }
    let (z, classes) = (&state.layers[last].z, state.layers[last].outputs);
    match state.loss {
        Loss::CrossEntropy => softmax(z, &mut state.p, classes),
        Loss::Bce => sigmoid(z, &mut state.p),
        Loss::SquaredError => state.p.copy_from_slice(z),
    }
}
// ANCHOR_END: forward
