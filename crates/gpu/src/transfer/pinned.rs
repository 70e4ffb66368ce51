//! Each batch is copied from pinned memory, which the operating system may not move.
//!
//! The device reads it by itself, at the full speed of the bus, while the host goes on. In return
//! the host must not write it again before the copy is done.
#![allow(unsafe_code, reason = "pinned memory is allocated without writing it")]

use std::sync::Arc;

use cudarc::driver::{CudaEvent, CudaStream, PinnedHostSlice};
use data::Batch;

use super::{Inputs, Transfer, elements};
use crate::{Launcher, Result, View};

pub(super) struct Pinned {
    stream: Arc<CudaStream>,
    staging: Staging,
    inputs: Inputs,
}

impl Pinned {
    pub(super) fn new(on: &Launcher) -> Result<Self> {
        let stream = Arc::clone(&on.stream);
        Ok(Self { staging: Staging::new(&stream)?, inputs: Inputs::new(on)?, stream })
    }
}

impl Transfer for Pinned {
    fn load(&mut self, batch: &Batch<'_>, _next: Option<&Batch<'_>>) -> Result<()> {
        self.inputs.fit(batch)?;
        self.staging.fill(batch)?;
        self.staging.copy(&self.stream, &mut self.inputs)
    }

    fn x(&self) -> View<'_> {
        self.inputs.x()
    }

    fn y(&self) -> View<'_> {
        self.inputs.y()
    }
}

/// A batch in pinned memory.
pub(super) struct Staging {
    x: PinnedHostSlice<f32>,
    y: PinnedHostSlice<f32>,
    /// Happens when the device has read it.
    copied: CudaEvent,
}

impl Staging {
    pub(super) fn new(stream: &Arc<CudaStream>) -> Result<Self> {
        let copied = stream.record_event(None)?;
        Ok(Self { x: pinned(stream, 1)?, y: pinned(stream, 1)?, copied })
    }

    // ANCHOR: staging
    /// Writes a batch, once the device has read what is there.
    pub(super) fn fill(&mut self, batch: &Batch<'_>) -> Result<()> {
        self.copied.synchronize()?;
        let len = elements(batch);
        for (buffer, elements) in [(&mut self.x, len.0), (&mut self.y, len.1)] {
            if buffer.len() < elements {
                let stream = buffer.context().default_stream();
                *buffer = pinned(&stream, elements)?;
            }
        }
        batch.copy_x(&mut self.x.as_mut_slice()?[..len.0]);
        batch.copy_y(&mut self.y.as_mut_slice()?[..len.1]);
        Ok(())
    }

    /// Starts to copy the batch. The host does not wait.
    pub(super) fn copy(&mut self, stream: &Arc<CudaStream>, to: &mut Inputs) -> Result<()> {
        let (x, y) = to.len;
        to.write(stream, &self.x.as_slice()?[..x], &self.y.as_slice()?[..y])?;
        Ok(self.copied.record(stream)?)
    }
    // ANCHOR_END: staging

    /// Happens when the device has read the batch.
    pub(super) const fn copied(&self) -> &CudaEvent {
        &self.copied
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        // The device may still be reading it. When that can't be waited for, nothing is left to do.
        let _ = self.copied.synchronize();
    }
}

/// This many elements of pinned memory, all 0.
fn pinned(stream: &CudaStream, elements: usize) -> Result<PinnedHostSlice<f32>> {
    // SAFETY: it is written before anything reads it, in the next line.
    let mut memory = unsafe { stream.context().alloc_pinned::<f32>(elements) }?;
    memory.as_mut_slice()?.fill(0.0);
    Ok(memory)
}
