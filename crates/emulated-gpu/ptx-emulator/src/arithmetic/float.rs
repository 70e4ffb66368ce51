//! General floating-point arithmetic: all types, roundings and modifiers.
//!
//! Sources: PTX ISA, "Floating-Point Instructions" and "Half Precision Floating-Point
//! Instructions". Rounding to nearest uses the host's floating-point unit ([`host`], [`half`]);
//! everything else uses integers ([`soft`](super::soft)), and a test checks that both give the same
//! bits.
//!
//! Order of the modifiers: `.ftz` flushes the operands, the operation rounds once, `.ftz` flushes
//! the result if it is subnormal (or tiny, see [`Unpacked::is_tiny`]), `.sat` or `.relu` clamps it.
//! Clamping turns −0 into +0.
//!
//! For types that aren't floating-point, which the checker rejects, all functions return 0.

use super::approximate;
use super::bits::{halves, pack_halves};
use super::format::Format;
use super::half;
use super::host;
use super::soft::Unpacked;
use crate::program::{Approximate, FloatBinary, FloatMode, FloatUnary, Rounding, Type};

/// Whether a type packs two 16-bit floating-point numbers.
#[inline]
pub(crate) const fn is_pair(ty: Type) -> bool {
    matches!(ty, Type::F16x2 | Type::Bf16x2)
}

/// `add`, `sub`, `mul`, `div`, `min`, `max`, `copysign` for `f16`, `f16x2`, `bf16`, `bf16x2`, `f32`
/// and `f64`. Values are bits, zero-extended.
pub(crate) fn float_binary(op: FloatBinary, mode: FloatMode, ty: Type, a: u64, b: u64) -> u64 {
    let Some(format) = Format::from_type(ty) else { return 0 };
    if is_pair(ty) {
        let ((a_low, a_high), (b_low, b_high)) = (halves(a), halves(b));
        return pack_halves(
            binary(op, mode, format, a_low, b_low),
            binary(op, mode, format, a_high, b_high),
        );
    }
    binary(op, mode, format, a, b)
}

/// `neg`, `abs`, `rcp`, `sqrt` and the approximate instructions.
///
/// For NaN, `neg` and `abs` return the canonical NaN, except for f64, where sign and payload are kept.
pub(crate) fn float_unary(op: FloatUnary, mode: FloatMode, ty: Type, a: u64) -> u64 {
    let Some(format) = Format::from_type(ty) else { return 0 };
    if is_pair(ty) {
        let (low, high) = halves(a);
        return pack_halves(unary(op, mode, format, low), unary(op, mode, format, high));
    }
    unary(op, mode, format, a)
}

/// `fma`, and `mad` for floating-point types: `a · b + c` with one rounding.
pub(crate) fn fma(mode: FloatMode, ty: Type, a: u64, b: u64, c: u64) -> u64 {
    let Some(format) = Format::from_type(ty) else { return 0 };
    if is_pair(ty) {
        let ((a_low, a_high), (b_low, b_high), (c_low, c_high)) = (halves(a), halves(b), halves(c));
        return pack_halves(
            multiply_add(mode, format, a_low, b_low, c_low),
            multiply_add(mode, format, a_high, b_high, c_high),
        );
    }
    multiply_add(mode, format, a, b, c)
}

/// Applies `.ftz`, `.sat` and `.relu` to a result.
#[inline]
pub(crate) fn finish(format: Format, mode: FloatMode, bits: u64) -> u64 {
    let bits = if mode.flush { format.flush(bits) } else { bits };
    if !(mode.saturate || mode.relu) {
        return bits;
    }
    if format.is_nan(bits) {
        if mode.saturate { 0 } else { format.nan() & format.magnitude() }
    } else if format.order(bits) <= 0 {
        0
    } else if mode.saturate && bits > format.one() {
        format.one()
    } else {
        bits
    }
}

/// The result if an operand is NaN; `None` if no operand is NaN. The first NaN takes precedence.
fn propagated_nan(format: Format, operands: &[u64]) -> Option<u64> {
    let nan = *operands.iter().find(|&&x| format.is_nan(x))?;
    Some(if format == Format::F64 { nan | 1 << 51 } else { format.nan() })
}

fn f32_of(bits: u64) -> f32 {
    f32::from_bits(bits as u32)
}

fn binary(op: FloatBinary, mode: FloatMode, format: Format, a: u64, b: u64) -> u64 {
    if op == FloatBinary::CopySign {
        return a & format.sign() | b & format.magnitude();
    }
    let [a, b] = [a, b].map(|x| if mode.flush { format.flush(x) } else { x });
    let result = match op {
        FloatBinary::Min { nan, xorsign_abs } => min_or_max(format, nan, xorsign_abs, a, b, false),
        FloatBinary::Max { nan, xorsign_abs } => min_or_max(format, nan, xorsign_abs, a, b, true),
        FloatBinary::Div { approximate: Approximate::Approx } if format == Format::F32 => {
            u64::from(approximate::div_approx_f32(f32_of(a), f32_of(b)).to_bits())
        }
        FloatBinary::Div { approximate: Approximate::Full } if format == Format::F32 => {
            u64::from(host::div_f32(f32_of(a), f32_of(b)).to_bits())
        }
        _ if mode.rounding == Rounding::NearestEven && format == Format::F32 => {
            let (a, b) = (f32_of(a), f32_of(b));
            let result = match op {
                FloatBinary::Add => host::add_f32(a, b),
                FloatBinary::Sub => host::sub_f32(a, b),
                FloatBinary::Mul => host::mul_f32(a, b),
                _ => host::div_f32(a, b),
            };
            u64::from(result.to_bits())
        }
        _ if mode.rounding == Rounding::NearestEven && format == Format::F64 => {
            let (a, b) = (f64::from_bits(a), f64::from_bits(b));
            let result = match op {
                FloatBinary::Add => host::add_f64(a, b),
                FloatBinary::Sub => host::sub_f64(a, b),
                FloatBinary::Mul => host::mul_f64(a, b),
                _ => host::div_f64(a, b),
            };
            result.to_bits()
        }
        FloatBinary::Add | FloatBinary::Sub | FloatBinary::Mul
            if mode.rounding == Rounding::NearestEven
                && matches!(format, Format::F16 | Format::BF16) =>
        {
            let b = if op == FloatBinary::Sub { b ^ format.sign() } else { b };
            let (a, b) = (a as u16, b as u16);
            u64::from(match (op == FloatBinary::Mul, format) {
                (false, Format::F16) => half::add_f16(a, b),
                (false, _) => half::add_bf16(a, b),
                (true, Format::F16) => half::mul_f16(a, b),
                (true, _) => half::mul_bf16(a, b),
            })
        }
        _ => soft_binary(op, mode.rounding, format, a, b),
    };
    let result = match op {
        FloatBinary::Add | FloatBinary::Sub | FloatBinary::Mul | FloatBinary::Div { .. } => {
            flush_result(format, mode, result, || exact_binary(op, mode.rounding, format, a, b))
        }
        FloatBinary::Min { .. } | FloatBinary::Max { .. } | FloatBinary::CopySign => result,
    };
    finish(format, mode, result)
}

/// `add`, `sub`, `mul`, `div` with integer arithmetic, without modifiers; other operations count as
/// `div`.
pub(crate) fn soft_binary(
    op: FloatBinary,
    rounding: Rounding,
    format: Format,
    a: u64,
    b: u64,
) -> u64 {
    // The order in which NaN operands take precedence, as in the module `host`.
    let operands = if matches!(op, FloatBinary::Div { .. }) { [a, b] } else { [b, a] };
    propagated_nan(format, &operands)
        .unwrap_or_else(|| exact_binary(op, rounding, format, a, b).round(format, rounding))
}

fn exact_binary(op: FloatBinary, rounding: Rounding, format: Format, a: u64, b: u64) -> Unpacked {
    let b = if op == FloatBinary::Sub { b ^ format.sign() } else { b };
    let (x, y) = (Unpacked::new(format, a), Unpacked::new(format, b));
    match op {
        FloatBinary::Add | FloatBinary::Sub => x.add(y, rounding),
        FloatBinary::Mul => x.multiply(y),
        _ => x.divide(y),
    }
}

/// `fma` with integer arithmetic, without modifiers.
pub(crate) fn soft_fma(rounding: Rounding, format: Format, a: u64, b: u64, c: u64) -> u64 {
    propagated_nan(format, &[b, c, a])
        .unwrap_or_else(|| exact_fma(rounding, format, a, b, c).round(format, rounding))
}

fn exact_fma(rounding: Rounding, format: Format, a: u64, b: u64, c: u64) -> Unpacked {
    let [a, b, c] = [a, b, c].map(|x| Unpacked::new(format, x));
    a.multiply(b).add(c, rounding)
}

/// Flushes a rounded result (`.ftz`) if the exact result is tiny (see [`Unpacked::is_tiny`]).
fn flush_result(
    format: Format,
    mode: FloatMode,
    result: u64,
    exact: impl FnOnce() -> Unpacked,
) -> u64 {
    let doubtful = mode.flush && result & format.magnitude() == format.min_normal();
    if doubtful && exact().is_tiny(format, mode.rounding) { result & format.sign() } else { result }
}

/// `sqrt` with integer arithmetic, without modifiers.
pub(crate) fn soft_sqrt(rounding: Rounding, format: Format, a: u64) -> u64 {
    propagated_nan(format, &[a])
        .unwrap_or_else(|| Unpacked::new(format, a).square_root().round(format, rounding))
}

fn multiply_add(mode: FloatMode, format: Format, a: u64, b: u64, c: u64) -> u64 {
    let [a, b, c] = [a, b, c].map(|x| if mode.flush { format.flush(x) } else { x });
    let result = match (mode.rounding, format) {
        (Rounding::NearestEven, Format::F32) => {
            u64::from(host::fma_f32(f32_of(a), f32_of(b), f32_of(c)).to_bits())
        }
        (Rounding::NearestEven, Format::F64) => {
            host::fma_f64(f64::from_bits(a), f64::from_bits(b), f64::from_bits(c)).to_bits()
        }
        (Rounding::NearestEven, Format::F16) => {
            u64::from(half::fma_f16(a as u16, b as u16, c as u16))
        }
        (Rounding::NearestEven, Format::BF16) => {
            u64::from(half::fma_bf16(a as u16, b as u16, c as u16))
        }
        _ => soft_fma(mode.rounding, format, a, b, c),
    };
    let result = flush_result(format, mode, result, || exact_fma(mode.rounding, format, a, b, c));
    finish(format, mode, result)
}

fn unary(op: FloatUnary, mode: FloatMode, format: Format, a: u64) -> u64 {
    // The functions for these two operations handle `.ftz` themselves.
    if format == Format::F64 && op == (FloatUnary::Rcp { approximate: true }) {
        return approximate::rcp_approx_ftz_f64(a);
    }
    if format == Format::F64 && op == FloatUnary::Rsqrt && mode.flush {
        return approximate::rsqrt_approx_ftz_f64(a);
    }
    let a = if mode.flush { format.flush(a) } else { a };
    let result = match op {
        FloatUnary::Neg | FloatUnary::Abs => {
            propagated_nan(format, &[a]).unwrap_or(if op == FloatUnary::Abs {
                a & format.magnitude()
            } else {
                a ^ format.sign()
            })
        }
        FloatUnary::Rcp { approximate } => {
            let div = FloatBinary::Div { approximate: Approximate::No };
            let rounding = if approximate { Rounding::NearestEven } else { mode.rounding };
            let mode = FloatMode { rounding, ..mode };
            // A NaN operand takes precedence.
            propagated_nan(format, &[a])
                .unwrap_or_else(|| binary(div, mode, format, format.one(), a))
        }
        FloatUnary::Sqrt { approximate } => {
            match (format, approximate || mode.rounding == Rounding::NearestEven) {
                (Format::F32, true) => u64::from(host::sqrt_f32(f32_of(a)).to_bits()),
                (Format::F64, true) => host::sqrt_f64(f64::from_bits(a)).to_bits(),
                _ => soft_sqrt(mode.rounding, format, a),
            }
        }
        FloatUnary::Rsqrt
        | FloatUnary::Sin
        | FloatUnary::Cos
        | FloatUnary::Lg2
        | FloatUnary::Ex2
        | FloatUnary::Tanh => match propagated_nan(format, &[a]) {
            Some(nan) => nan,
            None => approximate::elementary(op, format, a),
        },
    };
    finish(format, mode, result)
}

/// `min` and `max` (PTX ISA, "Floating-Point Instructions: min"). −0 is less than +0. If one operand is NaN, the result
/// is the other operand or, with `.NaN`, NaN. With `.xorsign.abs`, magnitudes are compared, and the sign of the result
/// is the exclusive or of both signs.
fn min_or_max(format: Format, nan: bool, xorsign_abs: bool, a: u64, b: u64, is_max: bool) -> u64 {
    let sign = (a ^ b) & format.sign();
    let [x, y] = [a, b].map(|v| if xorsign_abs { v & format.magnitude() } else { v });
    // This order also puts −0 before +0.
    let order = |v: u64| 2 * i128::from(format.order(v)) - i128::from(v & format.sign() != 0);
    let chosen = match (format.is_nan(x), format.is_nan(y)) {
        (true, true) => return propagated_nan(format, &[b, a]).unwrap_or(format.nan()),
        (true, false) | (false, true) if nan => {
            return propagated_nan(format, &[a, b]).unwrap_or(format.nan());
        }
        (true, false) => y,
        (false, true) => x,
        (false, false) => {
            if (order(x) < order(y)) != is_max {
                x
            } else {
                y
            }
        }
    };
    if xorsign_abs { chosen & format.magnitude() | sign } else { chosen }
}
