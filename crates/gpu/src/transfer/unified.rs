//! Host and device share one stretch of memory, whose pages move to whoever touches them.
//!
//! No copy is written down; instead the host has to know when it may touch the memory: not while
//! a kernel may be reading it, so it waits for the stream first. Pages that the device has to ask
//! for one by one come slowly, so they are sent to it beforehand, where the device can do that.
#![allow(unsafe_code, reason = "cudarc has no view of unified memory that goes with others")]

use std::mem::ManuallyDrop;
use std::sync::Arc;

use cudarc::driver::sys::{self, CUdevice_attribute};
use cudarc::driver::{CudaStream, DevicePtr, UnifiedSlice};
use data::Batch;

use super::{Transfer, elements};
use crate::{Buffer, Result, View};

pub(super) struct Unified {
    stream: Arc<CudaStream>,
    x: Shared,
    y: Shared,
    /// The elements of the batch in each of them.
    len: (usize, usize),
}

impl Unified {
    pub(super) fn new(stream: &Arc<CudaStream>) -> Result<Self> {
        let (x, y) = (Shared::new(stream, 1)?, Shared::new(stream, 1)?);
        Ok(Self { stream: Arc::clone(stream), x, y, len: (0, 0) })
    }
}

impl Transfer for Unified {
    // ANCHOR: load
    fn load(&mut self, batch: &Batch<'_>, _next: Option<&Batch<'_>>) -> Result<()> {
        // The kernels of the last step read this memory.
        self.stream.synchronize()?;
        let len = elements(batch);
        for (shared, elements) in [(&mut self.x, len.0), (&mut self.y, len.1)] {
            if shared.memory.len() < elements {
                *shared = Shared::new(&self.stream, elements)?;
            }
        }
        self.len = len;
        batch.copy_x(&mut self.x.memory.as_mut_slice()?[..self.len.0]);
        batch.copy_y(&mut self.y.memory.as_mut_slice()?[..self.len.1]);
        self.x.send(&self.stream, self.len.0)?;
        self.y.send(&self.stream, self.len.1)
    }
    // ANCHOR_END: load

    fn x(&self) -> View<'_> {
        self.x.seen.slice(..self.len.0)
    }

    fn y(&self) -> View<'_> {
        self.y.seen.slice(..self.len.1)
    }
}

/// Memory that host and device share, as cudarc sees it from either side.
struct Shared {
    /// The host's side, which owns it.
    memory: UnifiedSlice<f32>,
    /// The device's side, of the same address. Never dropped: `memory` frees it.
    seen: ManuallyDrop<Buffer>,
    /// Whether the device can be sent pages that it has not asked for.
    can_be_sent: bool,
}

impl Shared {
    fn new(stream: &Arc<CudaStream>, elements: usize) -> Result<Self> {
        let context = stream.context();
        // SAFETY: every pattern of bits is an f32, and the memory is written in the next line.
        let mut memory = unsafe { context.alloc_unified::<f32>(elements, true) }?;
        memory.as_mut_slice()?.fill(0.0);
        let address = memory.device_ptr(stream).0;
        // SAFETY: this many elements live at this address as long as `memory` does, beside which the
        // buffer is kept; it is never dropped, so nothing is freed twice.
        let seen = ManuallyDrop::new(unsafe { stream.upgrade_device_ptr(address, elements) });
        let attribute = CUdevice_attribute::CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS;
        Ok(Self { memory, seen, can_be_sent: context.attribute(attribute)? != 0 })
    }

    /// Sends the first elements to the device.
    fn send(&self, stream: &CudaStream, elements: usize) -> Result<()> {
        if !self.can_be_sent {
            return Ok(());
        }
        let (address, _used) = self.memory.device_ptr(stream);
        let (bytes, device) = (elements * size_of::<f32>(), stream.context().cu_device());
        // SAFETY: managed memory of at least this many bytes, and the stream's own device.
        let sent = unsafe { sys::cuMemPrefetchAsync(address, bytes, device, stream.cu_stream()) };
        Ok(sent.result()?)
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // SAFETY: dropped once, here. Leaking gives up its handle and leaves the memory alone.
        unsafe { ManuallyDrop::take(&mut self.seen) }.leak();
    }
}
