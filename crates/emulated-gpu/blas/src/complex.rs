//! Complex types in which the CPU computes.

#![allow(unsafe_code, reason = "operands are raw device memory")]

use gemm::{c32, c64};

use crate::{DataType, Number};

macro_rules! complex {
    ($($name:ident, $part:ident, $ty:ident, $multiply:ident;)*) => {$(
        // SAFETY: the type consists of its real part, followed by its imaginary part (`repr(C)`).
        unsafe impl Number for $name {
            type Part = $part;
            const TYPE: DataType = DataType::$ty;

            fn from_f64(x: f64) -> Self {
                Self::new(x as $part, 0.0)
            }

            fn from_parts(real: f64, imaginary: f64) -> Self {
                Self::new(real as $part, imaginary as $part)
            }

            fn parts(self) -> (f64, f64) {
                (self.re.into(), self.im.into())
            }

            fn conjugate(self) -> Self {
                self.conj()
            }

            unsafe fn multiply(
                [m, n, k]: [usize; 3],
                alpha: Self,
                a: (*const Self, isize, isize),
                b: (*const Self, isize, isize),
                beta: Self,
                c: (*mut Self, isize, isize),
            ) {
                use matrixmultiply::CGemmOption::Standard;
                let ((a, ra, ca), (b, rb, cb), (c, rc, cc)) = (a, b, c);
                let (alpha, beta) = ([alpha.re, alpha.im], [beta.re, beta.im]);
                let (a, b, c) = (a.cast(), b.cast(), c.cast());
                // SAFETY: the pointers are valid, as the caller promises; a complex number consists
                // of its two adjacent parts.
                unsafe {
                    matrixmultiply::$multiply(
                        Standard, Standard, m, k, n, alpha, a, ra, ca, b, rb, cb, beta, c, rc, cc,
                    );
                }
            }
        }
    )*};
}

complex! {
    c32, f32, C32, cgemm;
    c64, f64, C64, zgemm;
}
