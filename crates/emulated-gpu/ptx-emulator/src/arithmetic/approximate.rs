//! Approximate instructions (`.approx`, `.full`) and elementary functions.
//!
//! The ISA bounds their errors, but doesn't specify the bits. Here each is computed in double
//! precision, by IEEE operations or the `libm` crate, and rounded once, so the result is the same
//! on all platforms and well within the bounds. Special values follow the ISA's tables. The errors
//! were measured on a million f32 spread evenly over all encodings (every 4093rd), and on all f16
//! and bf16; 0.5 ulp means that all results in the sample were correctly rounded.
//!
//! | instruction | bound (PTX ISA, "Floating-Point Instructions") | maximum measured error |
//! |---|---|---|
//! | `rcp.approx.f32` | 1 ulp | 0.5 ulp |
//! | `div.approx.f32`, `div.full.f32` | 2 ulp | 0.5 ulp |
//! | `sqrt.approx.f32` | relative 2^−23 | 0.5 ulp |
//! | `rsqrt.approx.f32` | relative 2^−22.9 | 0.5 ulp |
//! | `sin`, `cos` | absolute 2^−20.5 in \[−2π, 2π\], 2^−14.7 in \[−100π, 100π\] | 0.5 ulp |
//! | `lg2` | absolute 2^−22 in (0.5, 2), otherwise relative 2^−22 | 0.5 ulp |
//! | `ex2.approx.f32` | 2 ulp | 0.5 ulp |
//! | `tanh.approx.f32` | relative 2^−11 | 0.5 ulp |
//! | `ex2`, `tanh` of f16 and bf16 | relative 2^−9.9 and 2^−7, absolute 2^−10.987 and 2^−8 | 0.5 ulp |
//! | `rsqrt.approx.f64` | none stated | 1 ulp |
//! | `rcp`, `rsqrt.approx.ftz.f64` | none stated; 20 bits of fraction | 0.5 ulp of 20 bits |

use super::format::Format;
use super::host::canonical_f32;
use super::soft::Unpacked;
use crate::program::{FloatUnary, Rounding};

/// Elementary functions, which have no exact result, of an `f32`.
#[inline(always)]
pub(crate) fn elementary_f32(op: FloatUnary, a: f32) -> f32 {
    canonical_f32(elementary_f64(op, f64::from(a)) as f32)
}

/// For ±0, `rsqrt` is ±∞ and `lg2` −∞; for negative numbers, both are NaN. `sin` and `cos` of an
/// infinity are NaN. Operations that aren't elementary functions return NaN.
#[inline(always)]
fn elementary_f64(op: FloatUnary, x: f64) -> f64 {
    match op {
        FloatUnary::Rsqrt => 1.0 / x.sqrt(),
        FloatUnary::Sin => libm::sin(x),
        FloatUnary::Cos => libm::cos(x),
        FloatUnary::Lg2 => libm::log2(x),
        FloatUnary::Ex2 => libm::exp2(x),
        FloatUnary::Tanh => libm::tanh(x),
        FloatUnary::Neg | FloatUnary::Abs | FloatUnary::Rcp { .. } | FloatUnary::Sqrt { .. } => {
            f64::NAN
        }
    }
}

/// `div.approx.f32`: "For 2^126 < |b| < 2^128, if a is infinity, div.approx.f32 returns NaN,
/// otherwise it returns a 0."
#[inline(always)]
pub(crate) fn div_approx_f32(a: f32, b: f32) -> f32 {
    // 2^126
    let limit = f32::from_bits(0x7e80_0000);
    let b = if b.abs() > limit && b.abs() <= f32::MAX { f32::INFINITY.copysign(b) } else { b };
    canonical_f32(a / b)
}

/// `rcp.approx.ftz.f64`: uses the upper 32 bits of the operand and gives 20 bits of fraction;
/// subnormals are flushed. NaN becomes 0x7fffffff00000000.
pub(crate) fn rcp_approx_ftz_f64(a: u64) -> u64 {
    upper_half(a, |x| Unpacked::integer(1).divide(x))
}

/// `rsqrt.approx.ftz.f64`: uses the upper 32 bits of the operand and gives 20 bits of fraction;
/// subnormals are flushed, so negative ones give −∞. NaN becomes 0x7fffffff00000000.
pub(crate) fn rsqrt_approx_ftz_f64(a: u64) -> u64 {
    upper_half(a, |x| {
        // The root of −0 is −0, so the result is −∞, as in the ISA's table. The sticky bit of the
        // root is far below the 20 bits.
        Unpacked::integer(1).divide(x.square_root())
    })
}

fn upper_half(a: u64, function: impl Fn(Unpacked) -> Unpacked) -> u64 {
    let format = Format::F64_UPPER;
    if Format::F64.is_nan(a) {
        return format.nan() << 32;
    }
    let operand = Unpacked::new(format, format.flush(a >> 32));
    format.flush(function(operand).round(format, Rounding::NearestEven)) << 32
}

/// Elementary functions in all formats, of an operand that isn't NaN.
pub(crate) fn elementary(op: FloatUnary, format: Format, a: u64) -> u64 {
    if format == Format::F32 {
        return u64::from(elementary_f32(op, f32::from_bits(a as u32)).to_bits());
    }
    let x = f64::from_bits(Unpacked::new(format, a).round(Format::F64, Rounding::NearestEven));
    let y = elementary_f64(op, x);
    Unpacked::new(Format::F64, y.to_bits()).round(format, Rounding::NearestEven)
}
