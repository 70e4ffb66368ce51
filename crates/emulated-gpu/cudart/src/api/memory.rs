//! Memory: where the runtime is kinder than the driver to what is empty.

use c_abi::{Code, export};

use crate::abi::{Extent, Pitched, PointerAttributes};
use crate::context::bind;
use crate::driver;
use crate::ffi::{Out, Result};

/// An element of rows, for which they are aligned.
const ELEMENT: u32 = 4;

fn pitched(width: usize, height: usize) -> Result<Pitched> {
    let mut made = Pitched { width, height, ..Pitched::default() };
    if width > 0 && height > 0 {
        let (address, pitch) = (&raw mut made.address as usize, &raw mut made.pitch as usize);
        // SAFETY: both are places for a number.
        unsafe { driver::cuMemAllocPitch_v2(address, pitch, width, height, ELEMENT)? };
    }
    Ok(made)
}

/// An attribute of an address.
///
/// # Errors
/// `cudaErrorInvalidValue` where the driver knows nothing of it.
pub(super) fn attribute(which: i32, address: usize) -> Result<u64> {
    let mut value = 0u64;
    // SAFETY: it is written to a place for a number of 8 bytes, and none is longer. One of 4 is its first half.
    unsafe { driver::cuPointerGetAttribute(&raw mut value as usize, which, address) }?;
    Ok(value)
}

fn describe(address: usize) -> PointerAttributes {
    /// `cudaInvalidDeviceId`
    const NO_DEVICE: i32 = -2;
    // The driver's numbers: the kind of memory (1 of the host, 2 of the device), and whether it is
    // managed, which is a kind of its own, 3, in the runtime.
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
    /// Memory of the device's; none is asked for and given.
    fn cudaMalloc(out: Out<'_, usize>, bytes: usize) {
        bind()?;
        out.required_as("devPtr")?;
        if bytes == 0 {
            return out.set_as(0, "devPtr");
        }
        driver::cuMemAlloc_v2(out.address(), bytes)
    }

    /// Gives it back; null is nothing.
    fn cudaFree(address: usize) {
        bind()?;
        if address == 0 { Ok(()) } else { driver::cuMemFree_v2(address) }
    }

    /// Rows that begin at good addresses.
    fn cudaMallocPitch(out: Out<'_, usize>, pitch: Out<'_, usize>, width: usize, height: usize) {
        bind()?;
        out.required_as("devPtr")?;
        pitch.required_as("pitch")?;
        let made = pitched(width, height)?;
        out.set_as(made.address, "devPtr")?;
        pitch.set_as(made.pitch, "pitch")
    }

    /// The same in three dimensions.
    fn cudaMalloc3D(out: Out<'_, Pitched>, extent: Extent) {
        bind()?;
        out.required_as("pitchedDevPtr")?;
        let rows = extent.height.checked_mul(extent.depth);
        let rows = rows.ok_or_else(|| Code::INVALID_VALUE.because("the extent is too large"))?;
        out.set_as(Pitched { height: extent.height, ..pitched(extent.width, rows)? }, "pitchedDevPtr")
    }

    /// Memory of the host's that the device can read.
    fn cudaMallocHost(out: Out<'_, usize>, bytes: usize) {
        host_alloc(out, bytes, 0)
    }

    /// The same, with flags, which are the driver's.
    fn cudaHostAlloc(out: Out<'_, usize>, bytes: usize, flags: u32) {
        host_alloc(out, bytes, flags)
    }

    /// Gives it back; null is nothing.
    fn cudaFreeHost(address: usize) {
        bind()?;
        if address == 0 { Ok(()) } else { driver::cuMemFreeHost(address) }
    }

    /// What is known of an address.
    fn cudaPointerGetAttributes(out: Out<'_, PointerAttributes>, address: usize) {
        bind()?;
        out.set_as(describe(address), "attributes")
    }
}

/// # Safety
/// `out` is null or the program's, to be written.
unsafe fn host_alloc(out: Out<'_, usize>, bytes: usize, flags: u32) -> Result {
    bind()?;
    out.required_as("ptr")?;
    if bytes == 0 {
        return out.set_as(0, "ptr");
    }
    driver::cuMemHostAlloc(out.address(), bytes, flags)
}
