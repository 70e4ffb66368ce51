//! Types in which the CPU computes: real types here, complex types in [`complex`](crate::complex).

#![allow(unsafe_code, reason = "operands are raw device memory")]

use half::{bf16, f16};

use crate::rounding::to_tf32;
use crate::vector::{self, Kernels};
use crate::words::Word;
use crate::{DataType, InputRounding};

/// A type in which the CPU computes: single or double precision, real or complex.
///
/// # Safety
/// In memory, the type must have the layout of `TYPE`: one `Part`, or two adjacent `Part`s.
pub unsafe trait Number:
    Copy
    + Default
    + PartialEq
    + Send
    + Sync
    + 'static
    + std::ops::Add<Output = Self>
    + std::ops::Mul<Output = Self>
    + std::ops::AddAssign
{
    /// The type itself, or the type of its real and imaginary part.
    type Part: Word;
    /// The corresponding element type of matrices.
    const TYPE: DataType;
    /// Converts to the nearest number.
    fn from_f64(x: f64) -> Self;
    /// Converts to the nearest number.
    fn from_f32(x: f32) -> Self {
        Self::from_f64(x.into())
    }
    /// The nearest number with these parts; real types ignore `imaginary`.
    fn from_parts(real: f64, imaginary: f64) -> Self;
    /// The real and the imaginary part, which is 0 for real types.
    fn parts(self) -> (f64, f64);
    /// The complex conjugate.
    #[must_use]
    fn conjugate(self) -> Self;
    /// The kernels that multiply a matrix without copying it, if this processor supports them.
    fn kernels() -> Option<Kernels<Self>> {
        None
    }

    /// Computes `c = alpha · a · b + beta · c` on one core with the crate `matrixmultiply`. `shape`
    /// is `[m, n, k]`; each matrix is a pointer with its row and column strides.
    ///
    /// # Safety
    /// `a` must be readable for `m · k` elements, `b` for `k · n`, and `c` readable and writable
    /// for `m · n`; `c` must overlap neither. If `beta` is 0, `c` may be uninitialised.
    unsafe fn multiply(
        shape: [usize; 3],
        alpha: Self,
        a: (*const Self, isize, isize),
        b: (*const Self, isize, isize),
        beta: Self,
        c: (*mut Self, isize, isize),
    );
}

/// Views numbers as words.
pub(crate) fn as_words<T: Number>(numbers: &[T]) -> &[T::Part] {
    let count = size_of_val(numbers) / size_of::<T::Part>();
    // SAFETY: a number consists of `Part`s, as the trait requires.
    unsafe { std::slice::from_raw_parts(numbers.as_ptr().cast(), count) }
}

/// Views numbers as mutable words.
pub(crate) fn as_words_mut<T: Number>(numbers: &mut [T]) -> &mut [T::Part] {
    let count = size_of_val(numbers) / size_of::<T::Part>();
    // SAFETY: a number consists of `Part`s, and every combination of parts is a valid number.
    unsafe { std::slice::from_raw_parts_mut(numbers.as_mut_ptr().cast(), count) }
}

/// A real type in which the CPU computes: `f32` or `f64`.
pub trait Real: Number + PartialOrd {
    /// Converts to the nearest `f32`.
    fn to_f32(self) -> f32;
    /// Converts to `f64`, exactly.
    fn to_f64(self) -> f64;
    /// The absolute value.
    #[must_use]
    fn magnitude(self) -> Self;
    /// Rounds the number as tensor cores round their inputs.
    #[must_use]
    fn rounded(self, inputs: InputRounding) -> Self;
}

macro_rules! real {
    ($($ty:ident, $name:ident, $kernels:ident, $multiply:ident, $rounded:expr;)*) => {$(
        // SAFETY: a real number consists of a single part, itself.
        unsafe impl Number for $ty {
            type Part = Self;
            const TYPE: DataType = DataType::$name;

            fn from_f64(x: f64) -> Self {
                x as Self
            }

            fn from_parts(real: f64, _: f64) -> Self {
                real as Self
            }

            fn parts(self) -> (f64, f64) {
                (self.to_f64(), 0.0)
            }

            fn conjugate(self) -> Self {
                self
            }

            fn kernels() -> Option<Kernels<Self>> {
                vector::$kernels::kernels()
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
                // SAFETY: guaranteed by the caller.
                unsafe {
                    matrixmultiply::$multiply(m, k, n, alpha, a, ra, ca, b, rb, cb, beta, c, rc, cc);
                }
            }
        }

        impl Real for $ty {
            fn to_f32(self) -> f32 {
                self as f32
            }

            fn to_f64(self) -> f64 {
                self.into()
            }

            fn magnitude(self) -> Self {
                self.abs()
            }

            fn rounded(self, inputs: InputRounding) -> Self {
                $rounded(self, inputs)
            }
        }
    )*};
}

real! {
    f32, F32, single, sgemm, rounded;
    f64, F64, double, dgemm, unrounded;
}

fn rounded(x: f32, inputs: InputRounding) -> f32 {
    match inputs {
        InputRounding::Full => x,
        InputRounding::Tf32 => to_tf32(x),
        InputRounding::F16 => f16::from_f32(x).to_f32(),
        InputRounding::Bf16 => bf16::from_f32(x).to_f32(),
    }
}

/// The rounding of inputs in double precision, which are never rounded.
fn unrounded(x: f64, _: InputRounding) -> f64 {
    x
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inputs_are_rounded() {
        let x = 1.0f32 + 2f32.powi(-9);
        assert_eq!(x.rounded(InputRounding::Full), x);
        assert_eq!(x.rounded(InputRounding::Tf32), x);
        assert_eq!(x.rounded(InputRounding::F16), x);
        assert_eq!(x.rounded(InputRounding::Bf16), 1.0);
        assert_eq!(70_000f32.rounded(InputRounding::F16), f32::INFINITY);
    }
}
