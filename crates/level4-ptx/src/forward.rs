//! The forward pass: `z1 a1 … zL p`.

use gpu::transfer::Transfer;
use gpu::{Result, loss_code};

use crate::state::State;
use crate::tiled::Tiled;

/// For each layer `z = a_prev · wᵀ + b` and `a = relu(z)`; at the last layer, `p` instead of `a`, together with the
/// loss of each sample and `dzL`.
pub(crate) fn forward(on: &Tiled, state: &mut State) -> Result<()> {
    let State { buffers: gpu::State { layers, loss, batch, input, p, .. }, losses, .. } = state;
    let (batch, last) = (*batch as u32, layers.len() - 1);
    for l in 0..=last {
        let (before, rest) = layers.split_at_mut(l);
        let layer = &mut rest[0];
        let a_prev = before.last().map_or(input.x(), |previous| previous.a.as_view());
        let (m, n) = (layer.inputs as u32, layer.outputs as u32);

        let hidden = l < last;
        let out = if hidden { &mut layer.a } else { &mut layer.z };
        let relu = u32::from(hidden);
        on.matmul_a_bt_add_bias(&a_prev, &layer.w, &layer.b, out, batch, m, n, relu)?;
    }
    let (layer, loss) = (&mut layers[last], loss_code(*loss));
    let classes = layer.outputs as u32;
    on.output(&layer.z, &input.y(), p, &mut layer.dz, losses, batch, classes, loss)
}
