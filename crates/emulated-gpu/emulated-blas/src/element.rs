//! Elements in memory.

#![allow(unsafe_code, reason = "operands are raw device memory")]

use half::{bf16, f16};

use crate::{DataType, Number};

/// The element of type `ty` that is `index` elements after `address`. Of a complex one, a real `T` gets the
/// real part.
///
/// # Safety
/// It has to be readable and aligned.
#[must_use]
pub unsafe fn load<T: Number>(address: u64, ty: DataType, index: isize) -> T {
    // SAFETY: the caller's promise; `offset` stays inside what is readable.
    unsafe {
        match ty {
            DataType::F16 => T::from_f32((*(address as *const f16).offset(index)).to_f32()),
            DataType::Bf16 => T::from_f32((*(address as *const bf16).offset(index)).to_f32()),
            DataType::F32 => T::from_f32(*(address as *const f32).offset(index)),
            DataType::F64 => T::from_f64(*(address as *const f64).offset(index)),
            DataType::C32 => {
                let [real, imaginary] = *(address as *const [f32; 2]).offset(index);
                T::from_parts(real.into(), imaginary.into())
            }
            DataType::C64 => {
                let [real, imaginary] = *(address as *const [f64; 2]).offset(index);
                T::from_parts(real, imaginary)
            }
        }
    }
}

/// Writes the element of type `ty` that is `index` elements after `address`, rounded to nearest. Of a
/// complex value, a real `ty` gets the real part.
///
/// # Safety
/// It has to be writable and aligned, and nothing else may refer to it meanwhile.
pub unsafe fn store<T: Number>(address: u64, ty: DataType, index: isize, value: T) {
    let (real, imaginary) = value.parts();
    // SAFETY: the caller's promise; `offset` stays inside what is writable.
    unsafe {
        match ty {
            DataType::F16 => *(address as *mut f16).offset(index) = f16::from_f64(real),
            DataType::Bf16 => *(address as *mut bf16).offset(index) = bf16::from_f64(real),
            DataType::F32 => *(address as *mut f32).offset(index) = real as f32,
            DataType::F64 => *(address as *mut f64).offset(index) = real,
            DataType::C32 => {
                *(address as *mut [f32; 2]).offset(index) = [real as f32, imaginary as f32];
            }
            DataType::C64 => *(address as *mut [f64; 2]).offset(index) = [real, imaginary],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_stored_is_loaded_rounded_to_its_type() {
        let third = 1.0 / 3.0;
        for (ty, unit) in [
            (DataType::F16, 2f64.powi(-11)),
            (DataType::Bf16, 2f64.powi(-8)),
            (DataType::F32, 2f64.powi(-24)),
            (DataType::F64, 0.0),
        ] {
            let mut memory = [0u64; 4];
            let address = memory.as_mut_ptr() as u64;
            // SAFETY: 32 bytes, aligned to 8; three elements fit.
            let back: f64 = unsafe {
                store(address, ty, 2, third);
                load(address, ty, 2)
            };
            assert!((back - third).abs() <= unit * third, "{ty:?}: {back}");
            // SAFETY: as above.
            let untouched: f64 = unsafe { load(address, ty, 1) };
            assert_eq!(untouched, 0.0);
        }
    }
}
