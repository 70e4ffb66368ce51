//! The scalars `alpha` and `beta`, in host memory or in device memory.

#![allow(unsafe_code, reason = "scalars are passed by pointer")]

use std::ffi::c_void;

use gemm::c64;

use crate::reject_if;
use crate::words::read;
use crate::{Access, DataType, Driver, Number, Rejection, Result, check_range, load};

/// The kind of memory that has the caller's scalars and results (`cublasPointerMode_t`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PointerMode {
    /// Host memory, which is read when the function is called.
    #[default]
    Host,
    /// Device memory, which is read when the work runs.
    Device,
}

/// A scalar of a product.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scalar {
    /// A real number.
    Value(f64),
    /// A complex number: its real and imaginary part.
    Complex(f64, f64),
    /// The address of a scalar in device memory, and its type.
    Device(u64, DataType),
}

impl Scalar {
    /// Reads `alpha` or `beta` in host mode, or records its address in device mode. `name` is used
    /// in messages.
    ///
    /// # Errors
    /// `INVALID_VALUE` if the pointer is null, doesn't match the pointer mode, or is a misaligned
    /// device address.
    ///
    /// # Safety
    /// In host mode, a non-null pointer must be readable.
    pub unsafe fn from_pointer(
        driver: &Driver,
        pointer: *const c_void,
        mode: PointerMode,
        ty: DataType,
        name: &str,
    ) -> Result<Self> {
        check_pointer(driver, pointer as u64, mode, ty, name)?;
        if mode == PointerMode::Device {
            return Ok(Self::Device(pointer as u64, ty));
        }
        let mut bytes = [0u8; 2 * size_of::<u64>()];
        // SAFETY: the pointer is readable, as the caller promises; the largest number has 16 bytes.
        // The source may be unaligned, or managed memory that a kernel is writing.
        unsafe { read(pointer.cast(), &mut bytes[..ty.size() as usize]) };
        let number = u128::from_ne_bytes(bytes);
        // SAFETY: `number` is the aligned copy.
        let number: c64 = unsafe { load(&raw const number as u64, ty, 0) };
        let (real, imaginary) = number.parts();
        Ok(if ty.is_complex() { Self::Complex(real, imaginary) } else { Self::Value(real) })
    }

    /// Reads `alpha` and `beta`; see [`from_pointer`](Self::from_pointer).
    ///
    /// # Errors
    /// See [`from_pointer`](Self::from_pointer).
    ///
    /// # Safety
    /// See [`from_pointer`](Self::from_pointer).
    pub unsafe fn alpha_and_beta(
        driver: &Driver,
        (alpha, beta): (*const c_void, *const c_void),
        mode: PointerMode,
        ty: DataType,
    ) -> Result<(Self, Self)> {
        // SAFETY: guaranteed by the caller.
        let read = |pointer, name| unsafe { Self::from_pointer(driver, pointer, mode, ty, name) };
        Ok((read(alpha, "alpha")?, read(beta, "beta")?))
    }

    /// The device memory that is read when the work runs; `None` for a scalar in host memory.
    #[must_use]
    pub fn access(self) -> Option<Access> {
        match self {
            Self::Value(_) | Self::Complex(..) => None,
            Self::Device(address, ty) => Some(Access::read_bytes(address, ty.size())),
        }
    }

    /// The value, rounded to the type of the computation.
    ///
    /// # Safety
    /// A device address must be readable now.
    #[must_use]
    pub unsafe fn get<T: Number>(self) -> T {
        match self {
            Self::Value(value) => T::from_f64(value),
            Self::Complex(real, imaginary) => T::from_parts(real, imaginary),
            // SAFETY: the address is readable, as the caller promises; `from_pointer` has checked
            // its alignment.
            Self::Device(address, ty) => unsafe { load(address, ty, 0) },
        }
    }

    /// Whether the scalar is known to be zero before the work runs.
    #[must_use]
    pub fn is_known_zero(self) -> bool {
        self == Self::Value(0.0) || self == Self::Complex(0.0, 0.0)
    }
}

/// Checks that a pointer to a number fits the pointer mode. In host memory a number may be
/// unaligned, as in NVIDIA's library.
///
/// # Errors
/// `INVALID_VALUE` if the pointer is null, doesn't match the mode, or is a misaligned device
/// address.
pub fn check_pointer(
    driver: &Driver,
    address: u64,
    mode: PointerMode,
    ty: DataType,
    name: &str,
) -> Result {
    reject_if!(address == 0, invalid, "{name} is a null pointer");
    let size = ty.size();
    // Complex numbers only need the alignment of their parts.
    let alignment = if ty.is_complex() { size / 2 } else { size };
    if mode == PointerMode::Device && !address.is_multiple_of(alignment) {
        return Err(Rejection::invalid(format!(
            "{name} points to {address:#x}, which is not a multiple of {alignment}, the alignment of a {}",
            ty.name()
        )));
    }
    match mode {
        PointerMode::Host if driver.is_device_only(address) => Err(Rejection::invalid(format!(
            "{name} points to device memory, but the pointer mode is CUBLAS_POINTER_MODE_HOST: \
             the real library would crash"
        ))),
        PointerMode::Host => Ok(()),
        PointerMode::Device => check_range(driver, name, address, size).map_err(|rejection| {
            let mode = "the pointer mode is CUBLAS_POINTER_MODE_DEVICE";
            rejection.map_message(|message| format!("{message} ({mode})"))
        }),
    }
}
