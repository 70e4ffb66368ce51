//! The loss of a batch. It is only computed when it is reported: training doesn't need it.

use gpu::memory::{buffer, grow};
use gpu::{AsView, Buffer, GpuError, Result, View};
use tensor::{Loss, Network};

use crate::operations::Operations;

/// The loss of a network, with the kernels and buffers that compute it.
pub struct Losses {
    on: Operations,
    loss: Loss,
    classes: usize,
    /// The loss of each sample, `[B]`.
    samples: Buffer,
    /// The sum of the losses of all samples, `[1]`.
    sum: Buffer,
}

impl Losses {
    /// Buffers for one sample, which grow with the first batch.
    pub fn new(on: &Operations, network: &Network) -> Result<Self> {
        let (samples, sum) = (buffer(on.stream(), 1)?, buffer(on.stream(), 1)?);
        let (on, classes) = (on.clone(), network.outputs());
        Ok(Self { on, loss: network.loss, classes, samples, sum })
    }

    /// The loss that presets print; the arguments are the same as for [`sum`](Self::sum). The host waits for the
    /// device, and divides.
    pub fn mean(&mut self, of: (&impl AsView, View<'_>, usize)) -> Result<f32> {
        let batch = of.2;
        self.sum(of)?;
        let sum = self.on.launcher.read(&self.sum.as_view(), 1)?;
        Ok(self.mean_of(sum[0], batch))
    }

    /// The sum of the losses of all samples, `[1]`, from the logits `z` and the targets `y`, both
    /// `[batch, classes]`, and `batch`. One kernel computes the loss of each sample, the next adds them up.
    ///
    /// # Errors
    /// [`GpuError::NoBatch`] if the batch is empty; the driver's error.
    pub fn sum(&mut self, (z, y, batch): (&impl AsView, View<'_>, usize)) -> Result<&mut Buffer> {
        if batch == 0 {
            return Err(GpuError::NoBatch { operation: "loss" });
        }
        let Self { on, loss, classes, samples, sum } = self;
        grow(on.stream(), samples, batch)?;
        match loss {
            Loss::CrossEntropy => on.cross_entropy(z, &y, samples, batch, *classes)?,
            Loss::Bce => on.bce(z, &y, samples, batch, *classes)?,
            Loss::SquaredError => on.squared_error(z, &y, samples, batch, *classes)?,
        }
        on.sum_batch(samples, sum, batch, 1)?;
        Ok(sum)
    }

    /// The loss that presets print, computed from the sum over a number of samples.
    #[must_use]
    pub fn mean_of(&self, sum: f32, samples: usize) -> f32 {
        match self.loss {
            // The mean is also over the outputs.
            Loss::Bce => sum / (samples * self.classes) as f32,
            Loss::CrossEntropy | Loss::SquaredError => sum / samples as f32,
        }
    }
}
