//! Types of elements, and their arithmetic: each step is rounded to the type.

use half::{bf16, f16};

use crate::fp8::Format;

/// `ncclDataType_t`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum DataType {
    Int8 = 0,
    Uint8 = 1,
    Int32 = 2,
    Uint32 = 3,
    Int64 = 4,
    Uint64 = 5,
    Float16 = 6,
    Float32 = 7,
    Float64 = 8,
    Bfloat16 = 9,
    Float8e4m3 = 10,
    Float8e5m2 = 11,
}

impl DataType {
    const ALL: [Self; 12] = [
        Self::Int8,
        Self::Uint8,
        Self::Int32,
        Self::Uint32,
        Self::Int64,
        Self::Uint64,
        Self::Float16,
        Self::Float32,
        Self::Float64,
        Self::Bfloat16,
        Self::Float8e4m3,
        Self::Float8e5m2,
    ];

    /// The type of that number.
    pub(crate) fn of(number: i32) -> Option<Self> {
        Self::ALL.get(usize::try_from(number).ok()?).copied()
    }

    /// Its name in `nccl.h`.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Int8 => "ncclInt8",
            Self::Uint8 => "ncclUint8",
            Self::Int32 => "ncclInt32",
            Self::Uint32 => "ncclUint32",
            Self::Int64 => "ncclInt64",
            Self::Uint64 => "ncclUint64",
            Self::Float16 => "ncclFloat16",
            Self::Float32 => "ncclFloat32",
            Self::Float64 => "ncclFloat64",
            Self::Bfloat16 => "ncclBfloat16",
            Self::Float8e4m3 => "ncclFloat8e4m3",
            Self::Float8e5m2 => "ncclFloat8e5m2",
        }
    }

    /// Bytes of an element.
    pub(crate) fn size(self) -> usize {
        match self {
            Self::Int8 | Self::Uint8 | Self::Float8e4m3 | Self::Float8e5m2 => 1,
            Self::Float16 | Self::Bfloat16 => 2,
            Self::Int32 | Self::Uint32 | Self::Float32 => 4,
            Self::Int64 | Self::Uint64 | Self::Float64 => 8,
        }
    }

    /// Whether it is a type of whole numbers.
    pub(crate) fn is_whole(self) -> bool {
        (self as u32) < Self::Float16 as u32
    }
}

/// What two elements become.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Combine {
    Sum,
    Product,
    Max,
    Min,
}

/// An element in memory.
///
/// # Safety
/// Any bytes are a value of the type.
pub(crate) unsafe trait Element: Copy {
    /// Two become one.
    fn combine(how: Combine, a: Self, b: Self) -> Self;
    /// Divided by a number of ranks: only whole numbers are.
    fn divide(self, by: usize) -> Self;
    /// 1 / n, in the type.
    fn reciprocal(n: usize) -> Self;
}

macro_rules! whole {
    ($($type:ty),*) => {$(
        // SAFETY: it is a whole number.
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
whole!(i8, u8, i32, u32, i64, u64);

macro_rules! float {
    ($($type:ty: $from:expr, $to:expr, $wide:ty;)*) => {$(
        // SAFETY: it is a floating-point number, or the bits of one.
        unsafe impl Element for $type {
            fn combine(how: Combine, a: Self, b: Self) -> Self {
                let (x, y): ($wide, $wide) = ($to(a), $to(b));
                $from(match how {
                    Combine::Sum => x + y,
                    Combine::Product => x * y,
                    // A number before what is none, as `max.f32` and `min.f32` have it.
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
    // Of two halves the sum and the product in single precision, rounded, are the nearest halves.
    f16: f16::from_f32, f16::to_f32, f32;
    bf16: bf16::from_f32, bf16::to_f32, f32;
    E4m3: |value| E4m3(Format::E4m3.encode(value)), |e: E4m3| Format::E4m3.decode(e.0), f32;
    E5m2: |value| E5m2(Format::E5m2.encode(value)), |e: E5m2| Format::E5m2.decode(e.0), f32;
}

/// Four bits of exponent, three of fraction.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct E4m3(u8);

/// Five bits of exponent, two of fraction.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct E5m2(u8);
