//! The loss of a batch. It is only computed when it is reported: training doesn't need it.

use std::sync::Arc;

use cudarc::driver::CudaStream;
use gpu::memory::{buffer, grow};
use gpu::{Buffer, Result, View};
use tensor::Loss;

use crate::operations::Operations;

/// The buffers in which losses are computed.
pub struct Losses {
    /// The loss of each sample, `[B]`.
    samples: Buffer,
    /// Their sum, `[1]`.
    sum: Buffer,
}

impl Losses {
    /// Buffers for `batch` samples.
    pub fn new(stream: &Arc<CudaStream>, batch: usize) -> Result<Self> {
        Ok(Self { samples: buffer(stream, batch)?, sum: buffer(stream, 1)? })
    }

    /// Makes room for `batch` samples.
    pub fn make_room(&mut self, stream: &Arc<CudaStream>, batch: usize) -> Result<()> {
        grow(stream, &mut self.samples, batch).map(|_| ())
    }

    /// The loss as presets print it. The host waits for the device, and divides.
    pub fn mean(
        &mut self,
        on: &Operations,
        loss: Loss,
        logits: (&View<'_>, &View<'_>),
        batch: usize,
        classes: usize,
    ) -> Result<f32> {
        let sum = self.sum(on, loss, logits, batch, classes)?;
        Ok(mean(loss, on.launcher.read(&sum.as_view(), 1)?[0], batch, classes))
    }

    /// The sum of the losses of all samples, `[1]`, from the logits `z` and the targets `y`, both
    /// `[batch, classes]`. One kernel computes the loss of each sample, the next adds them up. An empty
    /// batch has the sum 0.
    pub fn sum(
        &mut self,
        on: &Operations,
        loss: Loss,
        (z, y): (&View<'_>, &View<'_>),
        batch: usize,
        classes: usize,
    ) -> Result<&mut Buffer> {
        let Self { samples, sum } = self;
        if batch == 0 {
            on.stream().memset_zeros(sum)?;
            return Ok(sum);
        }
        match loss {
            Loss::CrossEntropy => on.cross_entropy(z, y, samples, batch, classes)?,
            Loss::Bce => on.bce(z, y, samples, batch, classes)?,
            Loss::SquaredError => on.squared_error(z, y, samples, batch, classes)?,
        }
        on.sum_batch(samples, sum, batch, 1)?;
        Ok(sum)
    }
}

/// The loss as presets print it, from the sum over the samples of a batch.
#[must_use]
pub fn mean(loss: Loss, sum: f32, batch: usize, classes: usize) -> f32 {
    match loss {
        // The mean is also over the outputs.
        Loss::Bce => sum / (batch * classes) as f32,
        Loss::CrossEntropy | Loss::SquaredError => sum / batch as f32,
    }
}
