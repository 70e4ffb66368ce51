//! The backward pass: `dzL dwL dbL … dz1 dw1 db1`.

use gpu::transfer::{Resident, Transfer};
use gpu::{Result, State};

use crate::tiled::Tiled;

/// From the last layer to the first: `dw = dzᵀ · a_prev` and `db = Σ_batch dz`; then, for the layer before it, `da = dz
/// · w`, and `dz = da` where that layer's `z` is positive, and 0 elsewhere. The kernel `output` has already computed
/// `dzL`, because it had all inputs of `dzL` in registers.
pub(crate) fn backward(on: &Tiled, state: &mut State<Resident>) -> Result<()> {
    let batch = state.batch as u32;
    for l in (0..state.layers.len()).rev() {
        let (before, rest) = state.layers.split_at_mut(l);
        let layer = &mut rest[0];
        let a_prev = before.last().map_or(state.input.x(), |previous| previous.a.as_view());
        let (m, n) = (layer.inputs as u32, layer.outputs as u32);

        // ANCHOR: layer
        on.matmul_at_b(&layer.dz, &a_prev, &mut layer.dw, batch, m, n)?;
        on.sum_batch(&layer.dz, &mut layer.db, batch, n)?;
        if let Some(previous) = before.last_mut() {
            let (a, dz) = (&previous.a, &mut previous.dz);
            on.matmul_a_b_relu_backward(&layer.dz, &layer.w, a, dz, batch, m, n)?;
        }
        // ANCHOR_END: layer
    }
    Ok(())
}
