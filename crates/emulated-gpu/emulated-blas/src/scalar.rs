//! `alpha` and `beta`: numbers of the host's, or numbers that lie in device memory until the work
//! runs.

#![allow(unsafe_code, reason = "scalars are passed by pointer")]

use std::ffi::c_void;

use gemm::c64;

use crate::{Access, DataType, Driver, Number, Rejection, check_range, load};

/// Where the caller keeps scalars and results, `cublasPointerMode_t`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PointerMode {
    /// In the host's memory: read when the function is called.
    #[default]
    Host,
    /// In device memory: read when the work runs.
    Device,
}

/// A scalar.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scalar {
    /// A number.
    Value(f64),
    /// A complex number: its real and its imaginary part.
    Complex(f64, f64),
    /// Its address in device memory, and its type.
    Device(u64, DataType),
}

impl Scalar {
    /// Takes `alpha` or `beta` from where the pointer mode says it is. `name` is its name.
    ///
    /// # Errors
    /// When the pointer is null, not aligned, or of the other mode.
    ///
    /// # Safety
    /// In host mode, a pointer that is not null has to be readable.
    pub unsafe fn take(
        driver: &Driver,
        pointer: *const c_void,
        mode: PointerMode,
        ty: DataType,
        name: &str,
    ) -> Result<Self, Rejection> {
        check_pointer(driver, pointer as u64, mode, ty, name)?;
        Ok(match mode {
            PointerMode::Host if ty.is_complex() => {
                // SAFETY: the caller's promise, and the alignment was just checked.
                let (real, imaginary) = unsafe { load::<c64>(pointer as u64, ty, 0) }.parts();
                Self::Complex(real, imaginary)
            }
            // SAFETY: as above.
            PointerMode::Host => Self::Value(unsafe { load(pointer as u64, ty, 0) }),
            PointerMode::Device => Self::Device(pointer as u64, ty),
        })
    }

    /// What is read of it when the work runs.
    #[must_use]
    pub fn access(self) -> Option<Access> {
        match self {
            Self::Value(_) | Self::Complex(..) => None,
            Self::Device(address, ty) => Some(Access::read_bytes(address, ty.size())),
        }
    }

    /// The number, rounded to the type that is computed in.
    ///
    /// # Safety
    /// A device address has to be readable now.
    #[must_use]
    pub unsafe fn get<T: Number>(self) -> T {
        match self {
            Self::Value(value) => T::from_f64(value),
            Self::Complex(real, imaginary) => T::from_parts(real, imaginary),
            // SAFETY: the caller's promise; alignment was checked by `read`.
            Self::Device(address, ty) => unsafe { load(address, ty, 0) },
        }
    }

    /// Whether it is known to be zero before the work runs.
    #[must_use]
    pub fn is_known_zero(self) -> bool {
        self == Self::Value(0.0) || self == Self::Complex(0.0, 0.0)
    }
}

/// Requires that a pointer to one number is what the pointer mode says.
///
/// # Errors
/// When it is null, not aligned, or of the other mode.
pub fn check_pointer(
    driver: &Driver,
    address: u64,
    mode: PointerMode,
    ty: DataType,
    name: &str,
) -> Result<(), Rejection> {
    if address == 0 {
        return Err(Rejection::invalid(format!("{name} is a null pointer")));
    }
    let size = ty.size();
    // The host's own complex numbers are aligned as their parts are.
    let alignment = if ty.is_complex() { size / 2 } else { size };
    if !address.is_multiple_of(alignment) {
        return Err(Rejection::invalid(format!(
            "{name} points to {address:#x}, which is not a multiple of {alignment}, as is due for a {}",
            ty.name()
        )));
    }
    match mode {
        PointerMode::Host if driver.is_device_only(address) => Err(Rejection::invalid(format!(
            "{name} points to device memory, but the pointer mode is CUBLAS_POINTER_MODE_HOST: \
             the real library would crash here"
        ))),
        PointerMode::Host => Ok(()),
        PointerMode::Device => check_range(driver, name, address, size).map_err(|rejection| {
            let mode = "the pointer mode is CUBLAS_POINTER_MODE_DEVICE";
            Rejection { message: format!("{} ({mode})", rejection.message), ..rejection }
        }),
    }
}
