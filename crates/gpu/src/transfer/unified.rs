//! The strategy with unified memory, which host and device share: its pages migrate to the processor that
//! accesses them.
//!
//! There is no explicit copy. Instead the host must not access the memory while a kernel may be reading it,
//! so it waits for the stream first. Migrating pages one by one on access is slow, so they are prefetched
//! if the device supports that.
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
    /// The number of the batch's elements in `x`, and in `y`.
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
        // Wait for the kernels of the last step, which read this memory.
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
        self.x.prefetch(&self.stream, self.len.0)?;
        self.y.prefetch(&self.stream, self.len.1)
    }
    // ANCHOR_END: load

    fn views(&self) -> [View<'_>; 2] {
        [self.x.seen.slice(..self.len.0), self.y.seen.slice(..self.len.1)]
    }
}

/// Memory that host and device share, with cudarc's handle for each side.
struct Shared {
    /// The host's handle, which owns the memory.
    memory: UnifiedSlice<f32>,
    /// The device's handle, with the same address. It is never dropped, because `memory` frees the memory.
    seen: ManuallyDrop<Buffer>,
    /// Whether the device supports prefetching.
    can_prefetch: bool,
}

impl Shared {
    fn new(stream: &Arc<CudaStream>, elements: usize) -> Result<Self> {
        let context = stream.context();
        // SAFETY: every bit pattern is an f32, and the next line writes the memory.
        let mut memory = unsafe { context.alloc_unified::<f32>(elements, true) }?;
        memory.as_mut_slice()?.fill(0.0);
        let address = memory.device_ptr(stream).0;
        // SAFETY: `memory` has this number of elements at this address, and lives as long as the handle,
        // which is never dropped, so nothing is freed twice.
        let seen = ManuallyDrop::new(unsafe { stream.upgrade_device_ptr(address, elements) });
        let attribute = CUdevice_attribute::CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS;
        Ok(Self { memory, seen, can_prefetch: context.attribute(attribute)? != 0 })
    }

    /// Prefetches the first elements to the device.
    fn prefetch(&self, stream: &CudaStream, elements: usize) -> Result<()> {
        if !self.can_prefetch {
            return Ok(());
        }
        let (address, _used) = self.memory.device_ptr(stream);
        let (bytes, device) = (elements * size_of::<f32>(), stream.context().cu_device());
        // SAFETY: managed memory of at least `bytes` bytes, and the stream's own device.
        let sent = unsafe { sys::cuMemPrefetchAsync(address, bytes, device, stream.cu_stream()) };
        Ok(sent.result()?)
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // SAFETY: `seen` is only taken here, once. Leaking it gives up the handle without freeing the memory.
        unsafe { ManuallyDrop::take(&mut self.seen) }.leak();
    }
}
