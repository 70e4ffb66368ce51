//! The backward pass: `dzL dwL dbL … dz1 dw1 db1`.

use gpu::Result;

use crate::kernels::Kernels;
use crate::one_launch::BACKWARD;
use crate::state::State;
use crate::tiled::{Shape, Tiled};

/// From the last layer to the first: `dw = dzᵀ · a_prev` and `db = Σ_batch dz`; then, for the
/// layer before, `da = dz · w` and `dz = da` where its `z` was positive.
pub(crate) fn backward(kernels: &mut Kernels, state: &mut State) -> Result<()> {
    match kernels {
        Kernels::ThreadPerSample(kernels) => kernels.backward(state),
        Kernels::Tiled(kernels) => tiled(kernels, state),
        Kernels::OneLaunch(kernel) => kernel.step(state, 0.0, BACKWARD, "backward"),
    }
}

/// `dzL` is there already: `output` had all it takes in its registers.
fn tiled(on: &Tiled, state: &mut State) -> Result<()> {
    let batch = state.batch;
    for l in (0..state.layers.len()).rev() {
        let (before, rest) = state.layers.split_at_mut(l);
        let layer = &mut rest[0];
        let a_prev = before.last().map_or(state.input.x(), |previous| previous.a.as_view());
        let shape = Shape { batch, m: layer.inputs, n: layer.outputs };

        // ANCHOR: layer
        on.gradient(&layer.dz, &a_prev, &mut layer.dw, shape)?;
        on.sum_batch(&layer.dz, &mut layer.db, batch, layer.outputs)?;
        if let Some(previous) = before.last_mut() {
            on.backward_layer(&layer.dz, &layer.w, &previous.a, &mut previous.dz, shape)?;
        }
        // ANCHOR_END: layer
    }
    Ok(())
}
