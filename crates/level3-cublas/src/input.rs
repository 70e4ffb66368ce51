//! The batch at a fixed address, for CUDA graphs.

use std::sync::Arc;

use cudarc::driver::CudaStream;
use data::{Batch, Dataset};
use gpu::memory::{buffer, grow};
use gpu::transfer::Transfer;
use gpu::{Buffer, Result, View};

/// A transfer that copies each batch to the same place: a graph replays addresses, and most transfers
/// bring batches to several.
pub(crate) struct FixedInput {
    transfer: Box<dyn Transfer>,
    stream: Arc<CudaStream>,
    x: Buffer,
    y: Buffer,
    /// The elements of the batch in `x` and `y`.
    len: (usize, usize),
}

impl FixedInput {
    pub(crate) fn new(transfer: Box<dyn Transfer>, stream: &Arc<CudaStream>) -> Result<Self> {
        let (x, y) = (buffer(stream, 1)?, buffer(stream, 1)?);
        Ok(Self { transfer, stream: Arc::clone(stream), x, y, len: (0, 0) })
    }
}

impl Transfer for FixedInput {
    fn dataset(&mut self, set: &Dataset) -> Result<()> {
        self.transfer.dataset(set)
    }

    fn load(&mut self, batch: &Batch<'_>, next: Option<&Batch<'_>>) -> Result<()> {
        let Self { transfer, stream, x, y, len } = self;
        transfer.load(batch, next)?;
        let (from_x, from_y) = (transfer.x(), transfer.y());
        *len = (from_x.len(), from_y.len());
        grow(stream, x, len.0)?;
        grow(stream, y, len.1)?;
        stream.memcpy_dtod(&from_x, &mut x.slice_mut(..len.0))?;
        Ok(stream.memcpy_dtod(&from_y, &mut y.slice_mut(..len.1))?)
    }

    fn x(&self) -> View<'_> {
        self.x.slice(..self.len.0)
    }

    fn y(&self) -> View<'_> {
        self.y.slice(..self.len.1)
    }
}
