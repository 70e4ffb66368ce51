//! The buffers of a layer, which are the same at every level on a GPU.

use std::sync::Arc;

use cudarc::driver::CudaStream;
use tensor::TensorName;

use crate::memory::{Buffer, buffer, zeros};
use crate::{GpuError, Result, size};

// ANCHOR: layer
/// One layer, `n` units on `m` inputs.
pub struct Layer<B = Buffer> {
    /// `m`.
    pub inputs: usize,
    /// `n`.
    pub outputs: usize,

    // These live as long as the training: read by every step, written by its update.
    /// Weights, `[n, m]`.
    pub w: B,
    /// Biases, `[n]`.
    pub b: B,

    // These live for one step: written by the forward pass, read by the backward pass.
    /// `[B, n]`.
    pub z: B,
    /// `relu(z)`, `[B, n]`; unused in the last layer, which has `p`.
    pub a: B,

    // These live for one step too: written by the backward pass, the last two read by the update.
    /// `[B, n]`; unused in the last layer.
    pub da: B,
    /// `[B, n]`.
    pub dz: B,
    /// `[n, m]`.
    pub dw: B,
    /// `[n]`.
    pub db: B,
}
// ANCHOR_END: layer

impl Layer {
    /// A layer whose parameters are 0, with gradients of them. What has a row for each sample holds one
    /// element, until a batch is loaded.
    ///
    /// # Errors
    /// What the driver says.
    pub fn new(stream: &Arc<CudaStream>, inputs: usize, outputs: usize) -> Result<Self> {
        Self::allocate::<GpuError>(
            (inputs, outputs),
            true,
            |elements| zeros(stream, elements),
            |elements| buffer(stream, elements),
        )
    }
}

impl<B> Layer<B> {
    /// The same from any buffers: of this many elements that are 0, and of this many that hold nothing yet.
    /// Without `gradients`, `dw` and `db` hold one element too.
    ///
    /// # Errors
    /// What an allocation says.
    pub fn allocate<E>(
        (inputs, outputs): (usize, usize),
        gradients: bool,
        zeros: impl Fn(usize) -> Result<B, E>,
        unwritten: impl Fn(usize) -> Result<B, E>,
    ) -> Result<Self, E> {
        let gradient = |elements| unwritten(if gradients { elements } else { 1 });
        let weights = size([outputs, inputs]).get();
        Ok(Self {
            inputs,
            outputs,
            w: zeros(weights)?,
            b: zeros(outputs)?,
            z: unwritten(1)?,
            a: unwritten(1)?,
            da: unwritten(1)?,
            dz: unwritten(1)?,
            dw: gradient(weights)?,
            db: gradient(outputs)?,
        })
    }

    /// The buffer of a tensor, which may have room for more than the loaded batch; none for what no
    /// layer has: `x`, `y`, `p`, the loss, and the parameters after the step, which take the place of
    /// those before.
    #[must_use]
    pub fn find(layers: &[Self], name: TensorName) -> Option<&B> {
        use TensorName::{A, B, BNext, Da, Db, Dw, Dz, Loss, P, W, WNext, X, Y, Z};
        let layer = |l: usize| &layers[l - 1];
        Some(match name {
            W(l) => &layer(l).w,
            B(l) => &layer(l).b,
            Z(l) => &layer(l).z,
            A(l) => &layer(l).a,
            Da(l) => &layer(l).da,
            Dz(l) => &layer(l).dz,
            Dw(l) => &layer(l).dw,
            Db(l) => &layer(l).db,
            X | Y | P | Loss | WNext(_) | BNext(_) => return None,
        })
    }
}
