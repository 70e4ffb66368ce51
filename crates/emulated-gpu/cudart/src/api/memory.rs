//! Memory functions that, unlike the driver's, accept empty sizes and null.

use c_abi::{Code, export};

use crate::abi::{Extent, PitchedPointer, PointerAttributes};
use crate::context::bind_context;
use crate::driver;
use crate::ffi::{Out, Result};

/// The element size that is passed to the driver for pitched memory; it determines the alignment of rows.
const ELEMENT_BYTES: u32 = 4;

fn pitched(width: usize, height: usize) -> Result<PitchedPointer> {
    let mut rows = PitchedPointer { width, height, ..PitchedPointer::default() };
    if width > 0 && height > 0 {
        let (address, pitch) = (&raw mut rows.address as usize, &raw mut rows.pitch as usize);
        // SAFETY: both addresses are those of fields of type `usize`.
        unsafe { driver::cuMemAllocPitch_v2(address, pitch, width, height, ELEMENT_BYTES)? };
    }
    Ok(rows)
}

/// The driver's attribute of an address.
///
/// # Errors
/// `cudaErrorInvalidValue` if the driver does not know the address.
pub(super) fn attribute(which: i32, address: usize) -> Result<u64> {
    let mut value = 0u64;
    // SAFETY: no attribute is longer than 8 bytes. An attribute of 4 bytes fills the lower half, because NVIDIA's
    // platforms are little-endian.
    unsafe { driver::cuPointerGetAttribute(&raw mut value as usize, which, address) }?;
    Ok(value)
}

fn describe(address: usize) -> PointerAttributes {
    /// `cudaInvalidDeviceId`
    const NO_DEVICE: i32 = -2;
    // Attribute 2 is the memory type: 1 for the host, 2 for the device. Attribute 8 states whether the memory is
    // managed; the runtime has a type for managed memory, 3.
    let Ok(kind) = attribute(2, address) else {
        let host_pointer = address;
        return PointerAttributes {
            device: NO_DEVICE,
            host_pointer,
            ..PointerAttributes::default()
        };
    };
    let managed = attribute(8, address).is_ok_and(|managed| managed != 0);
    PointerAttributes {
        kind: if managed { 3 } else { kind as i32 },
        device: attribute(9, address).map_or(NO_DEVICE, |device| device as i32),
        device_pointer: attribute(3, address).unwrap_or(0) as usize,
        host_pointer: attribute(4, address).unwrap_or(0) as usize,
    }
}

export! {
    /// Allocates device memory; 0 bytes yield null.
    fn cudaMalloc(out: Out<'_, usize>, bytes: usize) {
        bind_context()?;
        out.require_as("devPtr")?;
        if bytes == 0 {
            return out.set_as(0, "devPtr");
        }
        driver::cuMemAlloc_v2(out.address(), bytes)
    }

    /// Frees device memory; null is a no-op.
    fn cudaFree(address: usize) {
        bind_context()?;
        if address == 0 { Ok(()) } else { driver::cuMemFree_v2(address) }
    }

    /// Allocates rows, each aligned for coalesced access.
    fn cudaMallocPitch(out: Out<'_, usize>, pitch: Out<'_, usize>, width: usize, height: usize) {
        bind_context()?;
        out.require_as("devPtr")?;
        pitch.require_as("pitch")?;
        let rows = pitched(width, height)?;
        out.set_as(rows.address, "devPtr")?;
        pitch.set_as(rows.pitch, "pitch")
    }

    /// Allocates slices of rows, each row aligned for coalesced access.
    fn cudaMalloc3D(out: Out<'_, PitchedPointer>, extent: Extent) {
        bind_context()?;
        out.require_as("pitchedDevPtr")?;
        let rows = extent.height.checked_mul(extent.depth);
        let rows = rows.ok_or_else(|| Code::INVALID_VALUE.because("the extent is too large"))?;
        out.set_as(PitchedPointer { height: extent.height, ..pitched(extent.width, rows)? }, "pitchedDevPtr")
    }

    /// Allocates page-locked host memory that the device can access.
    fn cudaMallocHost(out: Out<'_, usize>, bytes: usize) {
        host_alloc(out, bytes, 0)
    }

    /// Allocates page-locked host memory. The flags have the driver's values.
    fn cudaHostAlloc(out: Out<'_, usize>, bytes: usize, flags: u32) {
        host_alloc(out, bytes, flags)
    }

    /// Frees page-locked memory; null is a no-op.
    fn cudaFreeHost(address: usize) {
        bind_context()?;
        if address == 0 { Ok(()) } else { driver::cuMemFreeHost(address) }
    }

    /// Returns the type, device and pointers of an address.
    fn cudaPointerGetAttributes(out: Out<'_, PointerAttributes>, address: usize) {
        bind_context()?;
        out.set_as(describe(address), "attributes")
    }
}

/// # Safety
/// `out` must be null or point to writable memory of the program.
unsafe fn host_alloc(out: Out<'_, usize>, bytes: usize, flags: u32) -> Result {
    bind_context()?;
    out.require_as("ptr")?;
    if bytes == 0 {
        return out.set_as(0, "ptr");
    }
    driver::cuMemHostAlloc(out.address(), bytes, flags)
}
