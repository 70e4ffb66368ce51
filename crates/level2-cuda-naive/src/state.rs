//! The buffers: what a training step reads and writes, how it is laid out, and how long it lives.
//! All of it stays on the device; the host holds none of these numbers.
#![allow(unsafe_code, reason = "memory is allocated without writing it")]

use std::sync::Arc;

use cudarc::driver::CudaStream;
use data::Batch;
use gpu::Result;
use tensor::{Loss, Network, TensorName};
use training::Parameters;

use crate::loss::Losses;
use crate::operations::Operations;
use crate::transfer::Transfer;
use crate::{Buffer, View};

/// Everything a training step touches. Each buffer is flat and row-major, and is reused from
/// batch to batch: memory is allocated only for a batch larger than any before.
pub struct State {
    /// The layers, first to last.
    pub layers: Vec<Layer>,
    /// The loss, which decides what `p` is.
    pub loss: Loss,
    /// `B`, the number of samples of the loaded batch.
    pub batch: usize,
    /// `x`, `[B, n0]`, and `y`, `[B, C]`, one-hot, and how they get here.
    pub input: Box<dyn Transfer>,
    /// `p`, `[B, C]`.
    pub p: Buffer,
    /// Where the loss is made.
    pub losses: Losses,
    /// The samples that the buffers have room for.
    capacity: usize,
    stream: Arc<CudaStream>,
}

// ANCHOR: layer
/// One layer, `n` units on `m` inputs.
pub struct Layer {
    /// `m`.
    pub inputs: usize,
    /// `n`.
    pub outputs: usize,

    // These live as long as the training: read by every step, written by its update.
    /// Weights, `[n, m]`.
    pub w: Buffer,
    /// Biases, `[n]`.
    pub b: Buffer,

    // These live for one step: written by the forward pass, read by the backward pass.
    /// `[B, n]`.
    pub z: Buffer,
    /// `relu(z)`, `[B, n]`; unused in the last layer, which has `p`.
    pub a: Buffer,

    // These live for one step too: written by the backward pass, the last two read by the update.
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

impl State {
    /// All buffers of a network, for batches of one sample at first. The parameters are 0.
    ///
    /// # Errors
    /// What the driver says.
    pub fn new(
        stream: &Arc<CudaStream>,
        network: &Network,
        input: Box<dyn Transfer>,
    ) -> Result<Self> {
        let layer = |n: &[usize]| {
            Ok(Layer {
                inputs: n[0],
                outputs: n[1],
                w: stream.alloc_zeros(n[1] * n[0])?,
                b: stream.alloc_zeros(n[1])?,
                z: buffer(stream, n[1])?,
                a: buffer(stream, n[1])?,
                da: buffer(stream, n[1])?,
                dz: buffer(stream, n[1])?,
                dw: buffer(stream, n[1] * n[0])?,
                db: buffer(stream, n[1])?,
            })
        };
        Ok(Self {
            layers: network.sizes.windows(2).map(layer).collect::<Result<_>>()?,
            loss: network.loss,
            batch: 0,
            input,
            p: buffer(stream, network.outputs())?,
            losses: Losses::new(stream, 1)?,
            capacity: 1,
            stream: Arc::clone(stream),
        })
    }

    /// Takes in a batch, told the one after it too, and makes room for it.
    ///
    /// # Errors
    /// What the driver says.
    pub fn load(&mut self, batch: &Batch<'_>, next: Option<&Batch<'_>>) -> Result<()> {
        self.input.load(batch, next)?;
        if batch.len() > self.capacity {
            let last = self.layers.len() - 1;
            for (l, layer) in self.layers.iter_mut().enumerate() {
                let elements = batch.len() * layer.outputs;
                layer.z = buffer(&self.stream, elements)?;
                layer.dz = buffer(&self.stream, elements)?;
                if l < last {
                    layer.a = buffer(&self.stream, elements)?;
                    layer.da = buffer(&self.stream, elements)?;
                }
            }
            let classes = self.layers[last].outputs;
            self.p = buffer(&self.stream, batch.len() * classes)?;
            self.losses = Losses::new(&self.stream, batch.len())?;
            // Not before: where the memory does not suffice, the next batch asks for it again.
            self.capacity = batch.len();
        }
        self.batch = batch.len();
        Ok(())
    }

    /// The loss of the last forward pass, as the preset prints it; waits for the device.
    ///
    /// # Errors
    /// What the driver says.
    pub fn loss(&mut self, on: &Operations) -> Result<f32> {
        let last = &self.layers[self.layers.len() - 1];
        let (z, y) = (last.z.as_view(), self.input.y());
        self.losses.mean(on, self.loss, (&z, &y), self.batch, last.outputs)
    }

    /// The buffer of a tensor, which may have room for more than the loaded batch; none for the
    /// loss and for the parameters after the step, which take the place of those before.
    #[must_use]
    pub fn view(&self, name: TensorName) -> Option<View<'_>> {
        use TensorName::{A, B, BNext, Da, Db, Dw, Dz, Loss, P, W, WNext, X, Y, Z};
        let layer = |l: usize| &self.layers[l - 1];
        Some(match name {
            X => self.input.x(),
            Y => self.input.y(),
            P => self.p.as_view(),
            W(l) => layer(l).w.as_view(),
            B(l) => layer(l).b.as_view(),
            Z(l) => layer(l).z.as_view(),
            A(l) => layer(l).a.as_view(),
            Dz(l) => layer(l).dz.as_view(),
            Dw(l) => layer(l).dw.as_view(),
            Db(l) => layer(l).db.as_view(),
            Da(l) => layer(l).da.as_view(),
            Loss | WNext(_) | BNext(_) => return None,
        })
    }

    /// Replaces all parameters.
    ///
    /// # Errors
    /// What the driver says.
    pub fn set_parameters(&mut self, on: &Operations, parameters: &Parameters) -> Result<()> {
        for (layer, given) in self.layers.iter_mut().zip(&parameters.layers) {
            on.write(given.w.data(), &mut layer.w)?;
            on.write(given.b.data(), &mut layer.b)?;
        }
        Ok(())
    }
}

/// So many elements of the device's memory, which hold nothing yet: a kernel that read one before
/// another has written it would be at fault, and the emulated GPU's initcheck would say so.
pub(crate) fn buffer(stream: &Arc<CudaStream>, elements: usize) -> Result<Buffer> {
    // SAFETY: every pattern of bits is an f32.
    Ok(unsafe { stream.alloc(elements) }?)
}
