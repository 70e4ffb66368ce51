//! The types that the CPU computes in: real ones here, complex ones in [`complex`](crate::complex).

#![allow(unsafe_code, reason = "operands are raw device memory")]

use half::{bf16, f16};

use crate::rounding::to_tf32;
use crate::vector::{self, Kernels};
use crate::words::Word;
use crate::{DataType, Inputs};

/// A type that the CPU computes in: single or double precision, real or complex.
///
/// # Safety
/// `TYPE` is its type in memory: one `Part`, or two next to each other.
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
    /// What it is made of: itself, or its real and its imaginary part.
    type Part: Word;
    /// The same type, as matrices have it.
    const TYPE: DataType;
    /// The nearest number.
    fn from_f64(x: f64) -> Self;
    /// The nearest number.
    fn from_f32(x: f32) -> Self;
    /// The nearest number of a real and an imaginary part, of which a real type drops the latter.
    fn from_parts(real: f64, imaginary: f64) -> Self;
    /// Its real part, and its imaginary one, which is 0 of a real type.
    fn parts(self) -> (f64, f64);
    /// The same with the sign of the imaginary part turned.
    #[must_use]
    fn conjugate(self) -> Self;
    /// How a matrix is multiplied by a vector without a copy, if there is a way on this processor.
    fn kernels() -> Option<Kernels<Self>> {
        None
    }

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

/// The words that numbers are made of.
pub(crate) fn words_of<T: Number>(numbers: &[T]) -> &[T::Part] {
    let count = size_of_val(numbers) / size_of::<T::Part>();
    // SAFETY: numbers are their parts, as the trait has it.
    unsafe { std::slice::from_raw_parts(numbers.as_ptr().cast(), count) }
}

/// The words that numbers are made of, to be written.
pub(crate) fn words_of_mut<T: Number>(numbers: &mut [T]) -> &mut [T::Part] {
    let count = size_of_val(numbers) / size_of::<T::Part>();
    // SAFETY: as above; any parts are numbers.
    unsafe { std::slice::from_raw_parts_mut(numbers.as_mut_ptr().cast(), count) }
}

/// A real type that the CPU computes in: `f32` or `f64`.
pub trait Real: Number + PartialOrd {
    /// The nearest number.
    fn to_f32(self) -> f32;
    /// The number.
    fn to_f64(self) -> f64;
    /// Its magnitude.
    #[must_use]
    fn magnitude(self) -> Self;
    /// Rounds it as a tensor core's input.
    #[must_use]
    fn rounded(self, inputs: Inputs) -> Self;
}

macro_rules! real {
    ($($ty:ident, $name:ident, $kernels:ident, $multiply:ident, $rounded:expr;)*) => {$(
        // SAFETY: its one part is itself.
        unsafe impl Number for $ty {
            type Part = Self;
            const TYPE: DataType = DataType::$name;

            fn from_f64(x: f64) -> Self {
                x as Self
            }

            fn from_f32(x: f32) -> Self {
                x.into()
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
                // SAFETY: as the caller promises.
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

            fn rounded(self, inputs: Inputs) -> Self {
                $rounded(self, inputs)
            }
        }
    )*};
}

real! {
    f32, F32, single, sgemm, rounded;
    f64, F64, double, dgemm, exact;
}

fn rounded(x: f32, inputs: Inputs) -> f32 {
    match inputs {
        Inputs::Full => x,
        Inputs::Tf32 => to_tf32(x),
        Inputs::F16 => f16::from_f32(x).to_f32(),
        Inputs::Bf16 => bf16::from_f32(x).to_f32(),
    }
}

/// Double precision is taken as it is.
fn exact(x: f64, _: Inputs) -> f64 {
    x
}

#[cfg(test)]
mod tests {
    use super::*;

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
