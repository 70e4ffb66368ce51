//! Fast paths on the host's floating-point unit: f32 and f64, to nearest, without modifiers.
//!
//! These small functions are inlined into loops over lanes; each takes a few instructions without a
//! branch, and can be vectorised. The general functions of [`float`](super::float) give the same
//! bits.
//!
//! NaN (PTX ISA, "Floating-Point Instructions"): "Single-precision instructions return an
//! unspecified NaN"; here that is always 0x7fffffff, as on hardware. "NaN payloads are supported
//! for double-precision instructions": the result is a NaN operand, made quiet, or
//! 0xfff8000000000000 if no operand is NaN. Of several, an H100 returns `b` rather than `c`, and `c`
//! rather than `a`; only a quotient returns `a` rather than `b`. Hosts differ in both, so NaNs are
//! replaced here.
//!
//! Multiply-adds are fused on all hosts: if the processor has no such instruction (or the calling
//! function isn't compiled for it), `mul_add` calls the C library's `fma`, which is exact but slow.
//! WebAssembly has no such instruction, so single precision uses [`fma_by_f64`] there.

const QUIET: u64 = 1 << 51;
const SIGN: u64 = 1 << 63;
const DEFAULT_NAN: u64 = 0xfff8_0000_0000_0000;

/// Replaces NaN by the canonical NaN of single precision, 0x7fffffff.
#[inline(always)]
pub(crate) fn canonical_f32(x: f32) -> f32 {
    if x.is_nan() { f32::from_bits(0x7fff_ffff) } else { x }
}

/// `.ftz`: replaces a subnormal number by a zero with the same sign.
#[inline(always)]
pub(crate) fn flush_f32(x: f32) -> f32 {
    if x.abs() < f32::MIN_POSITIVE { f32::from_bits(x.to_bits() & 0x8000_0000) } else { x }
}

/// `.sat`: clamped to \[0, 1\]; NaN and −0 become +0.
#[inline(always)]
pub(crate) fn saturate_f32(x: f32) -> f32 {
    // A comparison with NaN is false.
    if x > 0.0 { if x < 1.0 { x } else { 1.0 } } else { 0.0 }
}

/// Declares an operation of single and of double precision, such as `add.rn.f32` and `add.rn.f64`.
macro_rules! binary {
    ($($single:ident, $double:ident: $a:ident $operator:tt $b:ident, $nans:expr;)*) => {$(
        #[inline(always)]
        pub(crate) fn $single($a: f32, $b: f32) -> f32 {
            canonical_f32($a $operator $b)
        }

        #[inline(always)]
        pub(crate) fn $double($a: f64, $b: f64) -> f64 {
            propagate_f64($a $operator $b, $nans)
        }
    )*};
}

binary! {
    add_f32, add_f64: a + b, [b, a];
    sub_f32, sub_f64: a - b, [b, a];
    mul_f32, mul_f64: a * b, [b, a];
    div_f32, div_f64: a / b, [a, b];
}

/// `fma.rn.f32`, with one rounding.
#[inline(always)]
pub(crate) fn fma_f32(a: f32, b: f32, c: f32) -> f32 {
    canonical_f32(mul_add(a, b, c))
}

#[inline(always)]
fn mul_add(a: f32, b: f32, c: f32) -> f32 {
    if cfg!(target_family = "wasm") { fma_by_f64(a, b, c) } else { a.mul_add(b, c) }
}

/// A single-precision multiply-add with one rounding, computed in double precision.
///
/// The product of two `f32` is exact in `f64`, whose 53 bits are more than twice 24. The sum is
/// rounded to odd: if it is inexact, it is the neighbour whose last bit is 1. It then rounds to the
/// same `f32` as the exact sum, because an `f64` has more than two additional digits (Boldo and
/// Melquiond, "Emulation of FMA and correctly rounded sums: proved algorithms using rounding to
/// odd", 2008).
#[inline(always)]
pub(crate) fn fma_by_f64(a: f32, b: f32, c: f32) -> f32 {
    let (product, c) = (f64::from(a) * f64::from(b), f64::from(c));
    let sum = product + c;
    // Knuth's TwoSum: the exact rounding error; NaN if the sum is infinite or NaN.
    let rest = sum - product;
    let error = (product - (sum - rest)) + (c - rest);
    let bits = sum.to_bits();
    let away = (error < 0.0) == (sum < 0.0);
    let next = if away { bits.wrapping_add(1) } else { bits.wrapping_sub(1) };
    let odd = if error.abs() > 0.0 && bits & 1 == 0 { next } else { bits };
    f64::from_bits(odd) as f32
}

/// `sqrt.rn.f32`
#[inline(always)]
pub(crate) fn sqrt_f32(a: f32) -> f32 {
    // LLVM would fold a select on `a < 0` into the square root, because sqrt is NaN there anyway
    // (with other bits). Comparing bit patterns prevents that.
    let root = a.sqrt().to_bits();
    f32::from_bits(if root & 0x7fff_ffff > 0x7f80_0000 { 0x7fff_ffff } else { root })
}

/// `min.f32`: the minimum of a number and a NaN is the number; −0 < +0.
#[inline(always)]
pub(crate) fn min_f32(a: f32, b: f32) -> f32 {
    // Equal values can only differ in the sign of a zero.
    let equal = f32::from_bits(a.to_bits() | b.to_bits());
    let least = if a < b || b.is_nan() { a } else { b };
    canonical_f32(if a == b { equal } else { least })
}

/// `max.f32`: the maximum of a number and a NaN is the number; −0 < +0.
#[inline(always)]
pub(crate) fn max_f32(a: f32, b: f32) -> f32 {
    let equal = f32::from_bits(a.to_bits() & b.to_bits());
    let greatest = if a > b || b.is_nan() { a } else { b };
    canonical_f32(if a == b { equal } else { greatest })
}

/// `add.rn.ftz.f32`. A subnormal sum of normal numbers is exact.
#[inline(always)]
pub(crate) fn add_ftz_f32(a: f32, b: f32) -> f32 {
    flush_f32(add_f32(flush_f32(a), flush_f32(b)))
}

/// `mul.rn.ftz.f32`
#[inline(always)]
pub(crate) fn mul_ftz_f32(a: f32, b: f32) -> f32 {
    let (a, b) = (flush_f32(a), flush_f32(b));
    flush_result(mul_f32(a, b), (a + a) * b)
}

/// `fma.rn.ftz.f32`
#[inline(always)]
pub(crate) fn fma_ftz_f32(a: f32, b: f32, c: f32) -> f32 {
    let (a, b, c) = (flush_f32(a), flush_f32(b), flush_f32(c));
    flush_result(fma_f32(a, b, c), mul_add(a + a, b, c + c))
}

/// Flushes a tiny result (`.ftz`), given the result `double` of the same operation with a result
/// twice as large. Just below the smallest normal number, `double` still has all significant bits,
/// so it decides as [`is_tiny`](super::soft::Unpacked::is_tiny) does. If `double` overflows, it
/// isn't small, and the result is neither subnormal nor an exact zero.
#[inline(always)]
fn flush_result(result: f32, double: f32) -> f32 {
    if double.abs() < 2.0 * f32::MIN_POSITIVE {
        f32::from_bits(result.to_bits() & 0x8000_0000)
    } else {
        result
    }
}

/// The result of a double-precision operation. If it is NaN, it is the first NaN operand, made
/// quiet.
#[inline(always)]
fn propagate_f64<const N: usize>(result: f64, operands: [f64; N]) -> f64 {
    let quiet = |x: f64| f64::from_bits(x.to_bits() | QUIET);
    let default = f64::from_bits(DEFAULT_NAN);
    let nan =
        operands.iter().rev().fold(default, |nan, &x| if x.is_nan() { quiet(x) } else { nan });
    if result.is_nan() { nan } else { result }
}

/// `fma.rn.f64`, with one rounding.
#[inline(always)]
pub(crate) fn fma_f64(a: f64, b: f64, c: f64) -> f64 {
    propagate_f64(a.mul_add(b, c), [b, c, a])
}

/// `sqrt.rn.f64`
#[inline(always)]
pub(crate) fn sqrt_f64(a: f64) -> f64 {
    // Bit patterns are compared, for the same reason as in `sqrt_f32`.
    let (operand, root) = (a.to_bits(), a.sqrt().to_bits());
    let infinity = 0x7ff0_0000_0000_0000;
    let nan = if operand & !SIGN > infinity { operand | QUIET } else { DEFAULT_NAN };
    f64::from_bits(if root & !SIGN > infinity { nan } else { root })
}

#[cfg(test)]
mod tests {
    use super::fma_by_f64;

    /// Compares with the host's or the C library's multiply-add, which round once.
    #[test]
    fn multiply_add_by_double_precision_is_rounded_once() {
        let edges = [
            0x0000_0000,
            0x0000_0001,
            0x007f_ffff,
            0x0080_0000,
            0x3380_0000,
            0x3f80_0000,
            0x3f80_0001,
            0x3fff_ffff,
            0x4b80_0000,
            0x7f00_0000,
            0x7f7f_ffff,
            0x7f80_0000,
        ];
        let signed: Vec<u32> = edges.iter().flat_map(|&bits| [bits, bits | 1 << 31]).collect();
        let mut state = 1_u64;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 32) as u32
        };
        let mut triples = Vec::new();
        for &a in &signed {
            for &b in &signed {
                triples.extend(signed.iter().map(|&c| [a, b, c]));
            }
        }
        for _ in 0..200_000 {
            let (a, b) = (next(), next());
            triples.push([a, b, next()]);
            // Near-ties and cancellation: exponents that match.
            let product = f32::from_bits(a) * f32::from_bits(b);
            triples.push([a, b, product.to_bits() ^ next() >> 20 ^ 1 << 31]);
            triples.push([a & 0xffff_f000, b & 0xffff_f000, (product / 16_777_216.0).to_bits()]);
        }
        for [a, b, c] in triples.into_iter().map(|bits| bits.map(f32::from_bits)) {
            let (exact, found) = (a.mul_add(b, c), fma_by_f64(a, b, c));
            assert!(
                exact.to_bits() == found.to_bits() || exact.is_nan() && found.is_nan(),
                "{a:e} * {b:e} + {c:e}: {exact:e}, not {found:e}"
            );
        }
    }
}
