//! Numbers in the device's memory.
#![allow(unsafe_code, reason = "memory is allocated without writing it")]

use std::sync::Arc;

use cudarc::driver::{CudaSlice, CudaStream, CudaView, DeviceRepr};

use crate::{GpuError, Result};

/// A buffer of `f32` in the device's memory.
pub type Buffer = CudaSlice<f32>;
/// A view of a range of a [`Buffer`].
pub type View<'a> = CudaView<'a, f32>;

/// A buffer, or a view of a part of one.
pub trait AsView<T = f32> {
    /// A view of all elements.
    fn view(&self) -> CudaView<'_, T>;
}

impl<T> AsView<T> for CudaSlice<T> {
    fn view(&self) -> CudaView<'_, T> {
        self.as_view()
    }
}

impl<T> AsView<T> for CudaView<'_, T> {
    fn view(&self) -> CudaView<'_, T> {
        self.slice(..)
    }
}

/// Types for which any content of uninitialised memory is valid.
///
/// # Safety
/// Every bit pattern has to be a value of the type.
pub unsafe trait AnyBits: DeviceRepr {}

// SAFETY: every bit pattern is a number, an infinity or a NaN.
unsafe impl AnyBits for f32 {}
// SAFETY: every bit pattern is an integer.
unsafe impl AnyBits for u8 {}
// SAFETY: as for `u8`.
unsafe impl AnyBits for u32 {}

/// Fails if the size of these elements in bytes overflows. cudarc doesn't check that.
fn countable<T>(elements: usize) -> Result<()> {
    let bytes = elements.checked_mul(size_of::<T>());
    bytes.map(|_| ()).ok_or(GpuError::TooLarge(elements))
}

/// Allocates `elements` zeros in the device's memory.
///
/// # Errors
/// [`GpuError::TooLarge`] if the size in bytes overflows; the driver's error.
pub fn zeros(stream: &Arc<CudaStream>, elements: usize) -> Result<Buffer> {
    countable::<f32>(elements)?;
    Ok(stream.alloc_zeros(elements)?)
}

/// Allocates `elements` uninitialised elements in the device's memory. A kernel must not read them before
/// they are written; the emulated GPU's initcheck reports that.
///
/// # Errors
/// [`GpuError::TooLarge`] if the size in bytes overflows; the driver's error.
pub fn buffer<T: AnyBits>(stream: &Arc<CudaStream>, elements: usize) -> Result<CudaSlice<T>> {
    countable::<T>(elements)?;
    // SAFETY: every bit pattern is a `T`.
    Ok(unsafe { stream.alloc(elements) }?)
}

/// Replaces a buffer with fewer than `elements` elements by a new one. If the device is out of memory, the
/// buffer is unchanged.
///
/// # Errors
/// The driver's error.
pub fn grow<T: AnyBits>(
    stream: &Arc<CudaStream>,
    held: &mut CudaSlice<T>,
    elements: usize,
) -> Result<()> {
    if held.len() < elements {
        *held = buffer(stream, elements)?;
    }
    Ok(())
}
