//! The buffers of a layer, shared by all levels on a GPU.

use std::sync::Arc;

use cudarc::driver::CudaStream;
use tensor::TensorName;
use training::Parameters;

use crate::memory::{Buffer, buffer, zeros};
use crate::{Launcher, Result, size};

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

    // Buffers that live for one step, too: written by the backward pass, the last two read by the update.
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
    /// A layer with all parameters 0. Buffers with a row for each sample have one element until a batch is
    /// loaded.
    ///
    /// # Errors
    /// The driver's error.
    pub fn new(stream: &Arc<CudaStream>, inputs: usize, outputs: usize) -> Result<Self> {
        Self::allocate(stream, inputs, outputs, true)
    }

    /// As [`new`](Self::new); without `gradients`, `dw` and `db` have one element too.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn allocate(
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

    /// Replaces the parameters of all layers.
    ///
    /// # Errors
    /// [`GpuError::Shape`](crate::GpuError::Shape) if a layer has fewer parameters; the driver's error.
    pub fn set_parameters(
        layers: &mut [Self],
        on: &Launcher,
        parameters: &Parameters,
    ) -> Result<()> {
        for (layer, given) in layers.iter_mut().zip(&parameters.layers) {
            on.write(given.w.data(), &mut layer.w)?;
            on.write(given.b.data(), &mut layer.b)?;
        }
        Ok(())
    }

    /// The buffer of a tensor, which may be larger than the loaded batch needs. `None` for tensors that don't
    /// belong to a layer (`x`, `y`, `p`, the loss), and for the updated parameters: the update is in place.
    #[must_use]
    pub fn find(layers: &[Self], name: TensorName) -> Option<&Buffer> {
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
