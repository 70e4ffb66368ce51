//! The backward pass: `dzL dwL dbL da(L-1) … dz1 dw1 db1`.

use data_parallel::Finished;
use training::Result;

use crate::operations::Operations;
use crate::state::State;

/// From the last layer to the first: `dw = dzᵀ · a_prev` and `db = Σ_batch dz`; then, for the layer before it, `da = dz
/// · w`, and `dz = da` where that layer's `z` is positive, and 0 elsewhere. Calls `finished` once the launches that
/// make a layer's gradients are in the stream.
pub(crate) fn backward(on: &Operations, state: &mut State, finished: Finished<'_>) -> Result<()> {
    let State { buffers, plans, whole, .. } = state;
    buffers.is_loaded("backward")?;
    let gpu::State { layers, batch, input, p, .. } = buffers;
    let (plans, batch, last) = (&plans[batch], *batch, layers.len() - 1);
    let classes = layers[last].outputs;
    on.output_gradient(p, &input.y(), &mut layers[last].dz, (batch, *whole), classes)?;
    for (l, plan) in plans.iter().enumerate().rev() {
        let (before, rest) = layers.split_at_mut(l);
        let layer = &mut rest[0];
        let a_prev = before.last().map_or(input.x(), |previous| previous.a.as_view());

        // ANCHOR: layer
        on.matmul_at_b(plan, layer, &a_prev)?;
        on.sum_batch(plan, layer, batch)?;
        finished(l, rest)?;
        if let Some(previous) = before.last_mut() {
            on.matmul_a_b(plan, &rest[0], previous)?;
            on.relu_backward(plan, previous, batch)?;
        }
        // ANCHOR_END: layer
    }
    Ok(())
}
