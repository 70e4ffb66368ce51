//! The backward pass: `dzL dwL dbL da(L-1) … dz1 dw1 db1`.

use gpu::{Result, State};

use crate::operations::Operations;

// ANCHOR: backward
/// From the last layer to the first: `dw = dzᵀ · a_prev` and `db = Σ_batch dz`; then, for the layer
/// before it, `da = dz · w`, and `dz = da` where that layer's `z` is positive, and 0 elsewhere.
pub(crate) fn backward(on: &Operations, state: &mut State) -> Result<()> {
    let batch = state.batch;
    let last = state.layers.len() - 1;
    let classes = state.layers[last].outputs;
    on.output_gradient(&state.p, &state.input.y(), &mut state.layers[last].dz, batch, classes)?;
    for l in (0..=last).rev() {
        let (before, rest) = state.layers.split_at_mut(l);
        let layer = &mut rest[0];
        let a_prev = before.last().map_or(state.input.x(), |previous| previous.a.as_view());

        // ANCHOR: layer
        on.matmul_at_b(&layer.dz, &a_prev, &mut layer.dw, layer.outputs, layer.inputs, batch)?;
        on.sum_batch(&layer.dz, &mut layer.db, batch, layer.outputs)?;
        if let Some(previous) = before.last_mut() {
            let hidden = batch * previous.outputs;
            on.matmul_a_b(
                &layer.dz,
                &layer.w,
                &mut previous.da,
                batch,
                layer.inputs,
                layer.outputs,
            )?;
            on.relu_backward(&previous.da, &previous.z, &mut previous.dz, hidden)?;
        }
        // ANCHOR_END: layer
    }
    Ok(())
}
// ANCHOR_END: backward
