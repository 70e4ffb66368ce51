//! Where the batch is.

use std::sync::Arc;

use cudarc::driver::CudaStream;
use data::{Batch, Dataset};
use gpu::memory::grow;
use gpu::transfer::{Strategy, Transfer};
use gpu::{Buffer, Gpu, Launcher, Result, View};

/// The batch on the device, brought there in one of the ways of all levels.
pub(crate) struct Input {
    transfer: Box<dyn Transfer>,
    /// Where a graph finds every batch: it remembers addresses, and batches come to several.
    fixed: Option<Fixed>,
}

struct Fixed {
    stream: Arc<CudaStream>,
    x: Buffer,
    y: Buffer,
    /// The elements of the batch in each of them.
    len: (usize, usize),
}

impl Input {
    /// `fixed`: whether every batch has to be in the same place.
    pub(crate) fn new(gpu: &Gpu, on: &Launcher, how: Strategy, fixed: bool) -> Result<Self> {
        let stream = Arc::clone(&on.stream);
        let fixed = match fixed {
            true => {
                let (x, y) = (stream.alloc_zeros(1)?, stream.alloc_zeros(1)?);
                Some(Fixed { stream, x, y, len: (0, 0) })
            }
            false => None,
        };
        Ok(Self { transfer: how.start(gpu, on)?, fixed })
    }

    pub(crate) fn dataset(&mut self, set: &Dataset) -> Result<()> {
        self.transfer.dataset(set)
    }

    /// Brings a batch. Says whether the place of all batches is another now.
    pub(crate) fn load(&mut self, batch: &Batch<'_>, next: Option<&Batch<'_>>) -> Result<bool> {
        self.transfer.load(batch, next)?;
        let Some(Fixed { stream, x, y, len }) = &mut self.fixed else { return Ok(false) };
        let (from_x, from_y) = (self.transfer.x(), self.transfer.y());
        let moved = [grow(stream, x, from_x.len())?, grow(stream, y, from_y.len())?];
        *len = (from_x.len(), from_y.len());
        stream.memcpy_dtod(&from_x, &mut x.slice_mut(..len.0))?;
        stream.memcpy_dtod(&from_y, &mut y.slice_mut(..len.1))?;
        Ok(moved.contains(&true))
    }

    /// `x`, `[B, n0]`.
    pub(crate) fn x(&self) -> View<'_> {
        self.fixed.as_ref().map_or_else(|| self.transfer.x(), |at| at.x.slice(..at.len.0))
    }

    /// `y`, `[B, C]`, one-hot.
    pub(crate) fn y(&self) -> View<'_> {
        self.fixed.as_ref().map_or_else(|| self.transfer.y(), |at| at.y.slice(..at.len.1))
    }
}
