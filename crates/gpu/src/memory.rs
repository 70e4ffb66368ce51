//! Numbers in the device's memory.
#![allow(unsafe_code, reason = "memory is allocated without writing it")]

use std::sync::Arc;

use cudarc::driver::{CudaSlice, CudaStream, CudaView, DeviceRepr};

use crate::{GpuError, Result};

/// Numbers in the device's memory.
pub type Buffer = CudaSlice<f32>;
/// A stretch of such numbers.
pub type View<'a> = CudaView<'a, f32>;

/// A buffer, or a view of a part of one.
pub trait AsView {
    /// The view of all its elements.
    fn view(&self) -> View<'_>;
}

impl AsView for Buffer {
    fn view(&self) -> View<'_> {
        self.as_view()
    }
}

impl AsView for View<'_> {
    fn view(&self) -> View<'_> {
        self.slice(..)
    }
}

/// What memory can hold before anything wrote to it.
///
/// # Safety
/// Every pattern of bits has to be a value of the type.
pub unsafe trait AnyBits: DeviceRepr {}

// SAFETY: NaN has many patterns, and the rest are numbers.
unsafe impl AnyBits for f32 {}
// SAFETY: every pattern is an integer.
unsafe impl AnyBits for u8 {}

/// Fails if the size in bytes of these elements overflows: cudarc multiplies without a check.
fn countable<T>(elements: usize) -> Result<()> {
    let bytes = elements.checked_mul(size_of::<T>());
    bytes.map(|_| ()).ok_or(GpuError::TooLarge { elements })
}

/// This many zeros in the device's memory.
///
/// # Errors
/// [`GpuError::TooLarge`], and what the driver says.
pub fn zeros(stream: &Arc<CudaStream>, elements: usize) -> Result<Buffer> {
    countable::<f32>(elements)?;
    Ok(stream.alloc_zeros(elements)?)
}

/// This many elements of the device's memory, which hold nothing yet: a kernel that read one before
/// another has written it would be at fault, and the emulated GPU's initcheck would say so.
///
/// # Errors
/// [`GpuError::TooLarge`], and what the driver says.
pub fn buffer<T: AnyBits>(stream: &Arc<CudaStream>, elements: usize) -> Result<CudaSlice<T>> {
    countable::<T>(elements)?;
    // SAFETY: every pattern of bits is a `T`.
    Ok(unsafe { stream.alloc(elements) }?)
}

/// Makes room for this many elements. Says whether the memory is another now; where there is none, it
/// stays what it was.
///
/// # Errors
/// What the driver says.
pub fn grow(stream: &Arc<CudaStream>, held: &mut Buffer, elements: usize) -> Result<bool> {
    let grows = held.len() < elements;
    if grows {
        *held = buffer(stream, elements)?;
    }
    Ok(grows)
}
