//! The forward pass: `z1 a1 … zL p`.

use gpu::Result;
use gpu::transfer::Transfer;

use crate::state::State;
use crate::tiled::{LayerShape, Tiled};

/// For each layer `z = a_prev · wᵀ + b` and `a = relu(z)`; at the last one, `p` instead, and with it
/// the loss of each sample and `dzL`.
pub(crate) fn forward(on: &Tiled, state: &mut State) -> Result<()> {
    let batch = state.batch;
    let last = state.layers.len() - 1;
    for l in 0..=last {
        let (before, rest) = state.layers.split_at_mut(l);
        let layer = &mut rest[0];
        let a_prev = before.last().map_or(state.input.x(), |previous| previous.a.as_view());
        let shape = LayerShape::new(batch, layer);

        let relu = l < last;
        let out = if relu { &mut layer.a } else { &mut layer.z };
        on.matmul_a_bt_add_bias(&a_prev, &layer.w, &layer.b, out, shape, relu)?;
    }
    let (layer, y) = (&mut state.layers[last], state.input.y());
    let shape = LayerShape::new(batch, layer);
    let results = (&mut state.p, &mut layer.dz, &mut state.losses);
    on.output((&layer.z, &y), results, shape, state.loss)
}
