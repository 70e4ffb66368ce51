//! Data types and their arithmetic; each step is rounded to the type.

use c_abi::c_enum;
use half::{bf16, f16};

use crate::fp8::Fp8Format;

c_enum! {
    /// `ncclDataType_t`
    pub(crate) enum DataType: str {
        Int8 0 "ncclInt8";
        Uint8 1 "ncclUint8";
        Int32 2 "ncclInt32";
        Uint32 3 "ncclUint32";
        Int64 4 "ncclInt64";
        Uint64 5 "ncclUint64";
        Float16 6 "ncclFloat16";
        Float32 7 "ncclFloat32";
        Float64 8 "ncclFloat64";
        Bfloat16 9 "ncclBfloat16";
        Float8e4m3 10 "ncclFloat8e4m3";
        Float8e5m2 11 "ncclFloat8e5m2";
    }
}

impl DataType {
    /// The type's name in `nccl.h`.
    pub(crate) fn name(self) -> &'static str {
        self.texts()[0]
    }

    /// The size of an element in bytes.
    pub(crate) fn size(self) -> usize {
        match self {
            Self::Int8 | Self::Uint8 | Self::Float8e4m3 | Self::Float8e5m2 => 1,
            Self::Float16 | Self::Bfloat16 => 2,
            Self::Int32 | Self::Uint32 | Self::Float32 => 4,
            Self::Int64 | Self::Uint64 | Self::Float64 => 8,
        }
    }

    /// Whether this is an integer type.
    pub(crate) fn is_integer(self) -> bool {
        (self as u32) < Self::Float16 as u32
    }
}

/// How two elements are combined into one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Combine {
    Sum,
    Product,
    Max,
    Min,
}

/// A type of elements in memory.
///
/// # Safety
/// Every bit pattern must be a valid value of the type.
pub(crate) unsafe trait Element: Copy {
    /// Combines two elements.
    fn combine(how: Combine, a: Self, b: Self) -> Self;
    /// Divides by the number of ranks. It is only called for integers.
    fn divide(self, by: usize) -> Self;
    /// The number 1 / n, rounded to the type.
    fn reciprocal(n: usize) -> Self;
}

macro_rules! integer {
    ($($type:ty),*) => {$(
        // SAFETY: every bit pattern is a valid integer.
        unsafe impl Element for $type {
            fn combine(how: Combine, a: Self, b: Self) -> Self {
                match how {
                    Combine::Sum => a.wrapping_add(b),
                    Combine::Product => a.wrapping_mul(b),
                    Combine::Max => a.max(b),
                    Combine::Min => a.min(b),
                }
            }
            fn divide(self, by: usize) -> Self {
                self / by as Self
            }
            fn reciprocal(n: usize) -> Self {
                1 / n as Self
            }
        }
    )*};
}
integer!(i8, u8, i32, u32, i64, u64);

macro_rules! float {
    ($($type:ty: $from:expr, $to:expr, $wide:ty;)*) => {$(
        // SAFETY: every bit pattern is a valid floating-point number.
        unsafe impl Element for $type {
            fn combine(how: Combine, a: Self, b: Self) -> Self {
                let (x, y): ($wide, $wide) = ($to(a), $to(b));
                $from(match how {
                    Combine::Sum => x + y,
                    Combine::Product => x * y,
                    // If one operand is NaN, the result is the other, as with `max.f32` and
                    // `min.f32`.
                    Combine::Max => x.max(y),
                    Combine::Min => x.min(y),
                })
            }
            fn divide(self, by: usize) -> Self {
                $from($to(self) / by as $wide)
            }
            fn reciprocal(n: usize) -> Self {
                $from(1.0 / n as $wide)
            }
        }
    )*};
}
float! {
    f32: std::convert::identity, std::convert::identity, f32;
    f64: std::convert::identity, std::convert::identity, f64;
    // Halves are computed in single precision and then rounded, which gives the nearest half.
    f16: f16::from_f32, f16::to_f32, f32;
    bf16: bf16::from_f32, bf16::to_f32, f32;
    E4m3: |value| E4m3(Fp8Format::E4m3.encode(value)), |e: E4m3| Fp8Format::E4m3.decode(e.0), f32;
    E5m2: |value| E5m2(Fp8Format::E5m2.encode(value)), |e: E5m2| Fp8Format::E5m2.decode(e.0), f32;
}

/// An 8-bit float with 4 exponent bits and 3 fraction bits.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct E4m3(u8);

/// An 8-bit float with 5 exponent bits and 2 fraction bits.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct E5m2(u8);
