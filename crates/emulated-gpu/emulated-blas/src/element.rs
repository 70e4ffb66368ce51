//! Elements in memory, and the two types that the CPU computes in.

#![allow(unsafe_code, reason = "operands are raw device memory")]

use half::{bf16, f16};

use crate::{DataType, Inputs, to_tf32};

/// A type that the CPU computes in: `f32` or `f64`.
pub trait Real:
    Copy
    + Default
    + PartialEq
    + PartialOrd
    + Send
    + Sync
    + 'static
    + std::ops::Add<Output = Self>
    + std::ops::Mul<Output = Self>
    + std::ops::AddAssign
{
    /// The same type, as matrices have it.
    const TYPE: DataType;
    /// The nearest number.
    fn from_f64(x: f64) -> Self;
    /// The nearest number.
    fn from_f32(x: f32) -> Self;
    /// The nearest number.
    fn to_f32(self) -> f32;
    /// The number.
    fn to_f64(self) -> f64;
    /// Its magnitude.
    fn magnitude(self) -> Self;
    /// Rounds it as a tensor core's input.
    fn rounded(self, inputs: Inputs) -> Self;
    /// `c = alpha · a · b + beta · c` by the crate `matrixmultiply`, on one core; `[m, n, k]`, and a
    /// pointer with the strides of rows and columns for each matrix.
    ///
    /// # Safety
    /// Of `a` `m · k` elements can be read, of `b` `k · n`, and of `c` `m · n` be read and written;
    /// `c` overlaps neither. With `beta` 0 `c` may hold anything.
    unsafe fn multiply(
        shape: [usize; 3],
        alpha: Self,
        a: (*const Self, isize, isize),
        b: (*const Self, isize, isize),
        beta: Self,
        c: (*mut Self, isize, isize),
    );
}

impl Real for f32 {
    const TYPE: DataType = DataType::F32;

    fn from_f64(x: f64) -> Self {
        x as f32
    }

    fn from_f32(x: f32) -> Self {
        x
    }

    fn to_f32(self) -> f32 {
        self
    }

    fn to_f64(self) -> f64 {
        f64::from(self)
    }

    fn magnitude(self) -> Self {
        self.abs()
    }

    fn rounded(self, inputs: Inputs) -> Self {
        match inputs {
            Inputs::Full => self,
            Inputs::Tf32 => to_tf32(self),
            Inputs::F16 => f16::from_f32(self).to_f32(),
            Inputs::Bf16 => bf16::from_f32(self).to_f32(),
        }
    }

    unsafe fn multiply(
        [m, n, k]: [usize; 3],
        alpha: Self,
        a: (*const Self, isize, isize),
        b: (*const Self, isize, isize),
        beta: Self,
        c: (*mut Self, isize, isize),
    ) {
        let ((a, ra, ca), (b, rb, cb), (c, rc, cc)) = (a, b, c);
        // SAFETY: as the caller promises.
        unsafe { matrixmultiply::sgemm(m, k, n, alpha, a, ra, ca, b, rb, cb, beta, c, rc, cc) }
    }
}

impl Real for f64 {
    const TYPE: DataType = DataType::F64;

    fn from_f64(x: f64) -> Self {
        x
    }

    fn from_f32(x: f32) -> Self {
        Self::from(x)
    }

    fn to_f32(self) -> f32 {
        self as f32
    }

    fn to_f64(self) -> f64 {
        self
    }

    fn magnitude(self) -> Self {
        self.abs()
    }

    fn rounded(self, _: Inputs) -> Self {
        self
    }

    unsafe fn multiply(
        [m, n, k]: [usize; 3],
        alpha: Self,
        a: (*const Self, isize, isize),
        b: (*const Self, isize, isize),
        beta: Self,
        c: (*mut Self, isize, isize),
    ) {
        let ((a, ra, ca), (b, rb, cb), (c, rc, cc)) = (a, b, c);
        // SAFETY: as the caller promises.
        unsafe { matrixmultiply::dgemm(m, k, n, alpha, a, ra, ca, b, rb, cb, beta, c, rc, cc) }
    }
}

/// The element of type `ty` that is `index` elements after `address`.
///
/// # Safety
/// It has to be readable and aligned.
#[must_use]
pub unsafe fn load<T: Real>(address: u64, ty: DataType, index: isize) -> T {
    // SAFETY: the caller's promise; `offset` stays inside what is readable.
    unsafe {
        match ty {
            DataType::F16 => T::from_f32((*(address as *const f16).offset(index)).to_f32()),
            DataType::Bf16 => T::from_f32((*(address as *const bf16).offset(index)).to_f32()),
            DataType::F32 => T::from_f32(*(address as *const f32).offset(index)),
            DataType::F64 => T::from_f64(*(address as *const f64).offset(index)),
        }
    }
}

/// Writes the element of type `ty` that is `index` elements after `address`, rounded to nearest.
///
/// # Safety
/// It has to be writable and aligned, and nothing else may refer to it meanwhile.
pub unsafe fn store<T: Real>(address: u64, ty: DataType, index: isize, value: T) {
    // SAFETY: the caller's promise; `offset` stays inside what is writable.
    unsafe {
        match ty {
            DataType::F16 => {
                *(address as *mut f16).offset(index) = f16::from_f64(value.to_f64());
            }
            DataType::Bf16 => {
                *(address as *mut bf16).offset(index) = bf16::from_f64(value.to_f64());
            }
            DataType::F32 => *(address as *mut f32).offset(index) = value.to_f32(),
            DataType::F64 => *(address as *mut f64).offset(index) = value.to_f64(),
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

    #[test]
    fn inputs_are_rounded() {
        let x = 1.0f32 + 2f32.powi(-9);
        assert_eq!(x.rounded(Inputs::Full), x);
        assert_eq!(x.rounded(Inputs::Tf32), x);
        assert_eq!(x.rounded(Inputs::F16), x);
        assert_eq!(x.rounded(Inputs::Bf16), 1.0);
        assert_eq!(70_000f32.rounded(Inputs::F16), f32::INFINITY);
    }
}
