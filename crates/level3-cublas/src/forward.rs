//! The forward pass: `z1 a1 … zL p`.

use gpu::Result;
use tensor::Loss;

use crate::operations::Operations;
use crate::state::State;

/// For each layer `z = a_prev · wᵀ + b` and `a = relu(z)`; at the last layer, `p` instead of `a`.
pub(crate) fn forward(on: &Operations, state: &mut State) -> Result<()> {
    let State { buffers, plans, .. } = state;
    buffers.is_loaded("forward")?;
    let gpu::State { layers, loss, batch, input, p, .. } = buffers;
    let (plans, batch, last) = (&plans[batch], *batch, layers.len() - 1);
    for (l, plan) in plans.iter().enumerate() {
        let (before, rest) = layers.split_at_mut(l);
        let layer = &mut rest[0];
        let a_prev = before.last().map_or(input.x(), |previous| previous.a.as_view());

        // ANCHOR: layer
        on.matmul_a_bt(plan, &a_prev, layer)?;
        on.add_bias(plan, layer, batch)?;
        if l < last {
            on.relu(plan, layer, batch)?;
        }
        // ANCHOR_END: layer
    }
    let (z, classes) = (&layers[last].z, layers[last].outputs);
    match loss {
        Loss::CrossEntropy => on.kernels.softmax(z, p, batch, classes),
        Loss::Bce => on.kernels.sigmoid(z, p, batch * classes),
        Loss::SquaredError => on.kernels.copy(z, p, batch * classes),
    }
}
