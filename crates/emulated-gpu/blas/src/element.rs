//! Loading and storing elements in memory.

#![allow(unsafe_code, reason = "operands are raw device memory")]

use half::{bf16, f16};

use crate::words::Word;
use crate::{DataType, Number};

/// Loads element `index` of type `ty`, counted from `address`. If the element is complex and `T` is
/// real, the result is the real part.
///
/// # Safety
/// The element must be readable and aligned; complex elements must be aligned like their parts.
#[must_use]
pub unsafe fn load<T: Number>(address: u64, ty: DataType, index: isize) -> T {
    let size = ty.size() as isize;
    // SAFETY: the element is readable, as the caller promises; `offset` stays inside the readable
    // memory.
    unsafe {
        let at = (address as *const u8).offset(index * size);
        let half = size as usize / 2;
        match ty {
            DataType::F16 => T::from_f32(f16::from_bits(u16::load(at)).to_f32()),
            DataType::Bf16 => T::from_f32(bf16::from_bits(u16::load(at)).to_f32()),
            DataType::F32 => T::from_f32(f32::load(at)),
            DataType::F64 => T::from_f64(f64::load(at)),
            DataType::C32 => T::from_parts(f32::load(at).into(), f32::load(at.add(half)).into()),
            DataType::C64 => T::from_parts(f64::load(at), f64::load(at.add(half))),
        }
    }
}

/// Stores a value as element `index` of type `ty`, counted from `address`, rounded to nearest. If
/// the value is complex and `ty` is real, its real part is stored.
///
/// # Safety
/// The element must be writable and aligned; complex elements must be aligned like their parts.
pub unsafe fn store<T: Number>(address: u64, ty: DataType, index: isize, value: T) {
    let (real, imaginary) = value.parts();
    let size = ty.size() as isize;
    // SAFETY: the element is writable, as the caller promises; `offset` stays inside the writable
    // memory.
    unsafe {
        let at = (address as *mut u8).offset(index * size);
        let half = size as usize / 2;
        match ty {
            DataType::F16 => f16::from_f64(real).to_bits().store(at),
            DataType::Bf16 => bf16::from_f64(real).to_bits().store(at),
            DataType::F32 => (real as f32).store(at),
            DataType::F64 => real.store(at),
            DataType::C32 => {
                (real as f32).store(at);
                (imaginary as f32).store(at.add(half));
            }
            DataType::C64 => {
                real.store(at);
                imaginary.store(at.add(half));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loading_returns_the_stored_value_rounded_to_its_type() {
        let third = 1.0 / 3.0;
        for (ty, unit) in [
            (DataType::F16, 2f64.powi(-11)),
            (DataType::Bf16, 2f64.powi(-8)),
            (DataType::F32, 2f64.powi(-24)),
            (DataType::F64, 0.0),
        ] {
            let mut memory = [0u64; 4];
            let address = memory.as_mut_ptr() as u64;
            // SAFETY: the memory has 32 bytes and is aligned to 8, so three elements fit.
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
