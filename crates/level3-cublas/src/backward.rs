//! The backward pass: `dzL dwL dbL da(L-1) … dz1 dw1 db1`.

use data_parallel::Finished;

use crate::error::Result;
use crate::operations::Operations;
use crate::state::State;

/// From the last layer to the first: `dw = dzᵀ · a_prev` and `db = Σ_batch dz`; then, for the
/// layer before, `da = dz · w` and `dz = da` where its `z` was positive. What the products' epilogues
/// don't do, level 2's kernels do. `finished` is called when the kernels that make a layer's gradients are
/// in the stream.
pub(crate) fn backward(on: &Operations, state: &mut State, finished: Finished<'_>) -> Result<()> {
    state.is_loaded("backward")?;
    let State { layers, masks, plans, batch, whole, input, p, .. } = state;
    let (batch, last) = (*batch, layers.len() - 1);
    let classes = layers[last].outputs;
    on.output_gradient(p, &input.y(), &mut layers[last].dz, (batch, *whole), classes)?;
    for (l, plan) in plans.iter().enumerate().rev() {
        let (before, rest) = layers.split_at_mut(l);
        let layer = &mut rest[0];
        let a_prev = before.last().map_or(input.x(), |previous| previous.a.as_view());

        // ANCHOR: layer
        on.matmul_at_b(&plan.dw, &layer.dz, &a_prev, &mut layer.dw, &mut layer.db)?;
        if !plan.makes_db() {
            on.kernels.sum_batch(&layer.dz, &mut layer.db, batch, layer.outputs)?;
        }
        finished(l, rest)?;
        if let (Some(previous), Some(da)) = (before.last_mut(), &plan.da) {
            let (layer, hidden) = (&rest[0], batch * previous.outputs);
            let fused = (&mut previous.dz, &mut previous.db);
            on.matmul_a_b(da, &layer.dz, &layer.w, &mut previous.da, &masks[l - 1], fused)?;
            if !plan.makes_dz() {
                // relu(z) is positive exactly where z is, and z may never have been written.
                on.kernels.relu_backward(&previous.da, &previous.a, &mut previous.dz, hidden)?;
            }
        }
        // ANCHOR_END: layer
    }
    Ok(())
}
