//! The loss of a batch. It is only computed when it is reported: training doesn't need it.

use std::sync::Arc;

use cudarc::driver::CudaStream;
use gpu::memory::{buffer, grow};
use gpu::{AsView, Buffer, GpuError, Result, View};
use tensor::{Loss, Network};

use crate::operations::Operations;

/// The loss of a network, and the buffers in which it is computed.
pub struct Losses {
    loss: Loss,
    classes: usize,
    /// The loss of each sample, `[B]`.
    samples: Buffer,
    /// Their sum, `[1]`.
    sum: Buffer,
}

impl Losses {
    /// Buffers for one sample, which grow with the first batch.
    pub fn new(stream: &Arc<CudaStream>, network: &Network) -> Result<Self> {
        let (samples, sum) = (buffer(stream, 1)?, buffer(stream, 1)?);
        Ok(Self { loss: network.loss, classes: network.outputs(), samples, sum })
    }

    /// The loss as presets print it, with the arguments of [`sum`](Self::sum). The host waits for the device, and
    /// divides.
    pub fn mean(&mut self, on: &Operations, of: (&impl AsView, View<'_>, usize)) -> Result<f32> {
        let batch = of.2;
        let sum = on.launcher.read(&self.sum(on, of)?.as_view(), 1)?;
        Ok(self.mean_of(sum[0], batch))
    }

    /// The sum of the losses of all samples, `[1]`, from the logits `z` and the targets `y`, both
    /// `[batch, classes]`, and `batch`. One kernel computes the loss of each sample, the next adds them up.
    ///
    /// # Errors
    /// [`GpuError::NoBatch`] if the batch is empty; the driver's error.
    pub fn sum(
        &mut self,
        on: &Operations,
        (z, y, batch): (&impl AsView, View<'_>, usize),
    ) -> Result<&mut Buffer> {
        if batch == 0 {
            return Err(GpuError::NoBatch { operation: "loss" });
        }
        let Self { loss, classes, samples, sum } = self;
        grow(on.stream(), samples, batch)?;
        match loss {
            Loss::CrossEntropy => on.cross_entropy(z, &y, samples, batch, *classes)?,
            Loss::Bce => on.bce(z, &y, samples, batch, *classes)?,
            Loss::SquaredError => on.squared_error(z, &y, samples, batch, *classes)?,
        }
        on.sum_batch(samples, sum, batch, 1)?;
        Ok(sum)
    }

    /// The loss as presets print it, from the sum over the samples of a batch.
    #[must_use]
    pub fn mean_of(&self, sum: f32, samples: usize) -> f32 {
        match self.loss {
            // The mean is also over the outputs.
            Loss::Bce => sum / (samples * self.classes) as f32,
            Loss::CrossEntropy | Loss::SquaredError => sum / samples as f32,
        }
    }
}
