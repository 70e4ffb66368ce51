//! The forward pass: `z1 a1 … zL p`.

use gpu::Result;

use crate::kernels::Kernels;
use crate::one_launch::FORWARD;
use crate::state::State;
use crate::tiled::{Shape, Tiled};

/// For each layer `z = a_prev · wᵀ + b` and `a = relu(z)`; at the last one, `p` instead, and the
/// loss of each sample.
pub(crate) fn forward(kernels: &mut Kernels, state: &mut State) -> Result<()> {
    match kernels {
        Kernels::ThreadPerSample(kernels) => kernels.forward(state),
        Kernels::Tiled(kernels) => tiled(kernels, state),
        Kernels::OneLaunch(kernel) => kernel.step(state, 0.0, FORWARD, "forward"),
    }
}

fn tiled(on: &Tiled, state: &mut State) -> Result<()> {
    let batch = state.batch;
    let last = state.layers.len() - 1;
    for l in 0..=last {
        let (before, rest) = state.layers.split_at_mut(l);
        let layer = &mut rest[0];
        let a_prev = before.last().map_or(state.input.x(), |previous| previous.a.as_view());
        let shape = Shape { batch, m: layer.inputs, n: layer.outputs };

        let out = if l < last { &mut layer.a } else { &mut layer.z };
        on.forward_layer(&a_prev, &layer.w, &layer.b, out, shape, l < last)?;
    }
    let (layer, y) = (&mut state.layers[last], state.input.y());
    let results = (&mut state.p, &mut layer.dz, &mut state.losses);
    on.output((&layer.z, &y), results, batch, layer.outputs, state.loss)
}
