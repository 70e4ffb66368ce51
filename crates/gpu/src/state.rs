//! The buffers that a training step reads and writes, the same for all levels on a GPU. They stay on the device;
//! the host has no copies.

use std::sync::Arc;

use cudarc::driver::CudaStream;
use data::{Batch, Dataset};
use tensor::{Loss, Network, Tensor, TensorName};
use training::Parameters;

use crate::memory::{buffer, grow};
use crate::transfer::Transfer;
use crate::{Buffer, GpuError, Launcher, Layer, Result, View};

/// The buffers of a network. Each is flat and row-major, and is reused from batch to batch: memory is only allocated
/// for a batch that is larger than all earlier ones. `T` copies the batches to the device.
pub struct State<T: Transfer + ?Sized = dyn Transfer> {
    /// The layers, first to last.
    pub layers: Vec<Layer>,
    /// The loss, which determines how `p` is computed from `z`.
    pub loss: Loss,
    /// `B`, the number of samples of the loaded batch; 0 until a batch is loaded completely.
    pub batch: usize,
    /// `x`, `[B, n0]`, and `y`, `[B, C]`, one-hot, together with the strategy that copies them to the device.
    pub input: Box<T>,
    /// `p`, `[B, C]`.
    pub p: Buffer,
    /// The network.
    pub network: Network,
    /// The stream in which memory is allocated.
    pub stream: Arc<CudaStream>,
}

impl<T: Transfer + ?Sized> State<T> {
    /// All buffers of a network. The parameters are 0, and buffers with a row for each sample have one element until a
    /// batch is loaded. Gradients that a level doesn't keep in memory have one element too.
    ///
    /// # Errors
    /// The driver's error.
    pub fn new(
        stream: &Arc<CudaStream>,
        network: &Network,
        input: Box<T>,
        holds: impl Fn(TensorName) -> bool,
    ) -> Result<Self> {
        let layer =
            |(l, n): (usize, &[usize])| Layer::new(stream, n[0], n[1], holds(TensorName::Dw(l)));
        Ok(Self {
            layers: (1..).zip(network.sizes.windows(2)).map(layer).collect::<Result<_>>()?,
            loss: network.loss,
            batch: 0,
            input,
            p: buffer(stream, 1)?,
            network: network.clone(),
            stream: Arc::clone(stream),
        })
    }

    /// Hands the training set to the transfer strategy. Afterwards, no batch is loaded.
    ///
    /// # Errors
    /// The driver's error.
    pub fn dataset(&mut self, set: &Dataset) -> Result<()> {
        self.batch = 0;
        self.input.dataset(set)
    }

    /// Loads a batch and enlarges all buffers if needed; `next` is the batch after it.
    ///
    /// # Errors
    /// The driver's error. If the device is out of memory, no batch is loaded afterwards. A smaller batch may
    /// still fit.
    pub fn load(&mut self, batch: &Batch<'_>, next: Option<&Batch<'_>>) -> Result<()> {
        // If anything below fails, no batch is loaded.
        self.batch = 0;
        self.input.load(batch, next)?;
        self.make_room(batch.len(), |_| true)?;
        self.batch = batch.len();
        Ok(())
    }

    /// Enlarges `p`, and the layers' buffers for which `holds` is true, to this number of samples. The last layer has
    /// `p` instead of `a`, and no `da`.
    ///
    /// # Errors
    /// The driver's error; some buffers may have been enlarged.
    pub fn make_room(&mut self, batch: usize, holds: impl Fn(TensorName) -> bool) -> Result<()> {
        use TensorName::{A, Da, Dz, Z};
        let (stream, last) = (&self.stream, self.layers.len());
        for (l, layer) in (1..).zip(&mut self.layers) {
            let Layer { z, a, da, dz, outputs, .. } = layer;
            for (name, held) in [(Z(l), z), (A(l), a), (Da(l), da), (Dz(l), dz)] {
                if holds(name) && (l < last || matches!(name, Z(_) | Dz(_))) {
                    grow(stream, held, batch * *outputs)?;
                }
            }
        }
        grow(stream, &mut self.p, batch * self.network.outputs())
    }

    /// The last layer's `z` and the targets `y`, both `[B, C]`, and the batch size `B`.
    #[must_use]
    pub fn logits(&self) -> (&Buffer, View<'_>, usize) {
        (&self.layers[self.layers.len() - 1].z, self.input.y(), self.batch)
    }

    /// Fails if no batch is loaded.
    ///
    /// # Errors
    /// [`GpuError::NoBatch`], which names the operation.
    pub const fn is_loaded(&self, operation: &'static str) -> Result<()> {
        if self.batch == 0 { Err(GpuError::NoBatch { operation }) } else { Ok(()) }
    }

    /// Replaces the parameters of all layers.
    ///
    /// # Errors
    /// [`GpuError::Shape`] if a layer has fewer parameters; the driver's error.
    pub fn set_parameters(&mut self, on: &Launcher, parameters: &Parameters) -> Result<()> {
        for (layer, given) in self.layers.iter_mut().zip(&parameters.layers) {
            on.write(given.w.data(), &mut layer.w)?;
            on.write(given.b.data(), &mut layer.b)?;
        }
        Ok(())
    }

    /// Reads a tensor of the loaded batch; `None` for the loss, and for the updated parameters: the update is
    /// in place. Waits for everything that was launched.
    ///
    /// # Errors
    /// As [`Launcher::read`].
    pub fn tensor(&self, on: &Launcher, name: TensorName) -> training::Result<Option<Tensor>> {
        let Some(buffer) = self.view(name) else { return Ok(None) };
        let shape = self.network.shape(name, self.batch).unwrap_or_default();
        let data = on.read(&buffer, shape.iter().product())?;
        Tensor::new(shape, data).map(Some).map_err(training::Error::level)
    }

    /// The buffer of a tensor, which may be larger than the loaded batch needs.
    fn view(&self, name: TensorName) -> Option<View<'_>> {
        use TensorName::{A, B, BNext, Da, Db, Dw, Dz, Loss, P, W, WNext, X, Y, Z};
        let layer = |l: usize| &self.layers[l - 1];
        let buffer = match name {
            X => return Some(self.input.x()),
            Y => return Some(self.input.y()),
            P => &self.p,
            W(l) => &layer(l).w,
            B(l) => &layer(l).b,
            Z(l) => &layer(l).z,
            A(l) => &layer(l).a,
            Da(l) => &layer(l).da,
            Dz(l) => &layer(l).dz,
            Dw(l) => &layer(l).dw,
            Db(l) => &layer(l).db,
            Loss | WNext(_) | BNext(_) => return None,
        };
        Some(buffer.as_view())
    }
}
