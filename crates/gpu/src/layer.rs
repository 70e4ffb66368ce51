//! The buffers of a layer, shared by all levels on a GPU.

use std::sync::Arc;

use cudarc::driver::CudaStream;

use crate::memory::{Buffer, buffer, zeros};
use crate::{Result, size};

// ANCHOR: layer
/// One layer, `n` units on `m` inputs.
pub struct Layer {
    /// `m`.
    pub inputs: usize,
    /// `n`.
    pub outputs: usize,

    // Buffers that live as long as the training: read by every step, written by its update.
    /// Weights, `[n, m]`.
    pub w: Buffer,
    /// Biases, `[n]`.
    pub b: Buffer,

    // Buffers that live for one step: written by the forward pass, read by the backward pass.
    /// `[B, n]`.
    pub z: Buffer,
    /// `relu(z)`, `[B, n]`; unused in the last layer, which has `p`.
    pub a: Buffer,

    // Buffers that live for one step: written by the backward pass; the last two are read by the
    // update.
    /// `[B, n]`; unused in the last layer.
    pub da: Buffer,
    /// `[B, n]`.
    pub dz: Buffer,
    /// `[n, m]`.
    pub dw: Buffer,
    /// `[n]`.
    pub db: Buffer,
}
// ANCHOR_END: layer

impl Layer {
    /// A layer with all parameters 0. Buffers with a row for each sample have one element until a batch is loaded.
    /// Without `gradients`, `dw` and `db` have one element too.
    pub(crate) fn new(
        stream: &Arc<CudaStream>,
        inputs: usize,
        outputs: usize,
        gradients: bool,
    ) -> Result<Self> {
        let gradient = |elements| buffer(stream, if gradients { elements } else { 1 });
        let weights = size([outputs, inputs]).get();
        Ok(Self {
            inputs,
            outputs,
            w: zeros(stream, weights)?,
            b: zeros(stream, outputs)?,
            z: buffer(stream, 1)?,
            a: buffer(stream, 1)?,
            da: buffer(stream, 1)?,
            dz: buffer(stream, 1)?,
            dw: gradient(weights)?,
            db: gradient(outputs)?,
        })
    }
}
