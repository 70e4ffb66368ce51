//! The strategy that copies each batch from pinned memory, which the operating system can't move.
//!
//! The device reads it directly, at the full speed of the bus, while the host continues. So the host must
//! not overwrite it before the copy is done.
#![allow(unsafe_code, reason = "pinned memory is allocated without writing it")]

use std::sync::Arc;

use cudarc::driver::{CudaEvent, CudaStream, PinnedHostSlice};
use data::Batch;

use super::{Inputs, Transfer, elements};
use crate::{Launcher, Result, View};

pub(super) struct Pinned {
    staging: Staging,
    inputs: Inputs,
}

impl Pinned {
    pub(super) fn new(on: &Launcher) -> Result<Self> {
        Ok(Self { staging: Staging::new(&on.stream)?, inputs: Inputs::new(on)? })
    }
}

impl Transfer for Pinned {
    fn load(&mut self, batch: &Batch<'_>, _next: Option<&Batch<'_>>) -> Result<()> {
        self.inputs.fit(batch)?;
        self.staging.fill(batch)?;
        let stream = Arc::clone(&self.inputs.on.stream);
        self.staging.copy(&stream, &mut self.inputs)
    }

    fn views(&self) -> [View<'_>; 2] {
        self.inputs.views()
    }
}

/// A batch in pinned memory.
pub(super) struct Staging {
    x: PinnedHostSlice<f32>,
    y: PinnedHostSlice<f32>,
    /// Recorded after the copy to the device.
    pub(super) copied: CudaEvent,
}

impl Staging {
    pub(super) fn new(stream: &Arc<CudaStream>) -> Result<Self> {
        let copied = stream.record_event(None)?;
        Ok(Self { x: pinned(stream, 1)?, y: pinned(stream, 1)?, copied })
    }

    // ANCHOR: staging
    /// Writes a batch, after waiting for the copy of the previous one.
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
}

impl Drop for Staging {
    fn drop(&mut self) {
        // The device may still be reading this memory. Errors are ignored, because `drop` can't report them.
        let _ = self.copied.synchronize();
    }
}

/// Allocates `elements` zeros in pinned memory.
fn pinned(stream: &CudaStream, elements: usize) -> Result<PinnedHostSlice<f32>> {
    // SAFETY: the next line writes the whole memory before it is read.
    let mut memory = unsafe { stream.context().alloc_pinned::<f32>(elements) }?;
    memory.as_mut_slice()?.fill(0.0);
    Ok(memory)
}
