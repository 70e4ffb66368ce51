//! Approximate instructions: special values from the ISA's tables, recorded values, measured
//! errors.

use super::{FLUSH, INF, NAN, PLAIN, SIGN, bits};
use crate::arithmetic::{approximate as fast, float_binary, float_unary};
use crate::program::{Approximate, FloatBinary, FloatUnary, Type};

const RCP: FloatUnary = FloatUnary::Rcp { approximate: true };
const SQRT: FloatUnary = FloatUnary::Sqrt { approximate: true };

fn run(op: FloatUnary, a: u64) -> u64 {
    float_unary(op, PLAIN, Type::F32, a)
}

/// The tables of the ISA, "Floating-Point Instructions": −∞, −1, −0, +0, +∞, NaN.
#[test]
fn approximations_have_the_special_values_of_the_isa() {
    let one = bits(1.0);
    for (op, results) in [
        (RCP, [SIGN, one | SIGN, INF | SIGN, INF, 0, NAN]),
        (SQRT, [NAN, NAN, SIGN, 0, INF, NAN]),
        (FloatUnary::Rsqrt, [NAN, NAN, INF | SIGN, INF, 0, NAN]),
        (FloatUnary::Lg2, [NAN, NAN, INF | SIGN, INF | SIGN, INF, NAN]),
        (FloatUnary::Ex2, [0, bits(0.5), one, one, INF, NAN]),
    ] {
        let inputs = [INF | SIGN, one | SIGN, SIGN, 0, INF, 0xff80_0001];
        for (a, result) in inputs.into_iter().zip(results) {
            assert_eq!(run(op, a), result, "{op:?} {a:#x}");
        }
    }
    for (op, at_zero, at_minus_zero) in [(FloatUnary::Sin, 0, SIGN), (FloatUnary::Cos, one, one)] {
        assert_eq!(run(op, INF), NAN);
        assert_eq!(run(op, INF | SIGN), NAN);
        assert_eq!(run(op, NAN), NAN);
        assert_eq!(run(op, 0), at_zero);
        assert_eq!(run(op, SIGN), at_minus_zero);
    }
    assert_eq!(run(FloatUnary::Tanh, INF), one);
    assert_eq!(run(FloatUnary::Tanh, INF | SIGN), one | SIGN);
    assert_eq!(run(FloatUnary::Tanh, SIGN), SIGN);
    assert_eq!(run(FloatUnary::Tanh, 0), 0);
    assert_eq!(run(FloatUnary::Tanh, NAN), NAN);
}

#[test]
fn subnormals_count_unless_flushed() {
    let flushed = |op, a| float_unary(op, FLUSH, Type::F32, a);
    assert_eq!(flushed(RCP, 1), INF);
    assert_eq!(flushed(RCP, SIGN | 1), INF | SIGN);
    assert_eq!(flushed(RCP, bits(2.0_f32.powi(127))), 0);
    assert_eq!(run(RCP, bits(2.0_f32.powi(127))), 0x0040_0000);
    assert_eq!(run(RCP, 0x0040_0000), bits(2.0_f32.powi(127)));
    assert_eq!(flushed(FloatUnary::Rsqrt, SIGN | 1), INF | SIGN);
    assert_eq!(run(FloatUnary::Rsqrt, SIGN | 1), NAN);
    assert_eq!(flushed(FloatUnary::Lg2, 1), INF | SIGN);
    assert_eq!(run(FloatUnary::Lg2, 1), bits(-149.0));
    assert_eq!(flushed(FloatUnary::Ex2, bits(-127.0)), 0);
    assert_eq!(run(FloatUnary::Ex2, bits(-127.0)), 0x0040_0000);
    assert_eq!(run(FloatUnary::Ex2, bits(-149.0)), 1);
    assert_eq!(run(FloatUnary::Ex2, bits(-151.0)), 0);
    assert_eq!(run(FloatUnary::Ex2, bits(128.0)), INF);
    assert_eq!(flushed(FloatUnary::Sin, SIGN | 1), SIGN);
    assert_eq!(run(FloatUnary::Sin, SIGN | 1), SIGN | 1);
    assert_eq!(run(FloatUnary::Tanh, 1), 1);
}

/// "For 2^126 < |b| < 2^128, if a is infinity, div.approx.f32 returns NaN, otherwise it returns
/// a 0."
#[test]
fn approximate_division_has_the_limits_of_the_isa() {
    let div = |approximate, mode, a: f32, b: f32| {
        float_binary(FloatBinary::Div { approximate }, mode, Type::F32, bits(a), bits(b))
    };
    let approx = |a, b| div(Approximate::Approx, PLAIN, a, b);
    let full = |a, b| div(Approximate::Full, PLAIN, a, b);
    let limit = 2.0_f32.powi(126);
    let inf = f32::INFINITY;
    assert_eq!(approx(limit, limit), bits(1.0));
    assert_eq!(approx(limit, 1.5 * limit), 0);
    assert_eq!(approx(-limit, 1.5 * limit), SIGN);
    assert_eq!(approx(1.0, f32::MAX), 0);
    assert_eq!(approx(inf, 1.5 * limit), NAN);
    assert_eq!(approx(inf, inf), NAN);
    assert_eq!(approx(inf, limit), INF);
    assert_eq!(approx(1.0, 0.0), INF);
    assert_eq!(approx(-1.0, 0.0), INF | SIGN);
    assert_eq!(approx(0.0, 0.0), NAN);
    assert_eq!(approx(1.0, 3.0), 0x3eaa_aaab);
    assert_eq!(full(limit, 1.5 * limit), 0x3f2a_aaab);
    assert_eq!(full(1.0, f32::MAX), 0x0020_0000);
    assert_eq!(div(Approximate::Full, FLUSH, 1.0, f32::MAX), 0);
    assert_eq!(div(Approximate::Approx, FLUSH, 1.0, f32::from_bits(1)), INF);
}

/// `rcp.approx.ftz.f64` and `rsqrt.approx.ftz.f64` work on the upper 32 bits.
#[test]
fn approximate_reciprocals_of_doubles() {
    let (inf, sign) = (f64::INFINITY.to_bits(), 1 << 63);
    let nan = 0x7fff_ffff_0000_0000;
    let rcp = |a| float_unary(RCP, FLUSH, Type::F64, a);
    let rsqrt = |a| float_unary(FloatUnary::Rsqrt, FLUSH, Type::F64, a);
    for (a, reciprocal, root) in [
        (inf | sign, sign, nan),
        (sign | 1, inf | sign, inf | sign),
        (sign, inf | sign, inf | sign),
        (0, inf, inf),
        (0x000f_ffff_ffff_ffff, inf, inf),
        (inf, 0, 0),
        (0x7ff0_0000_0000_0001, nan, nan),
        (0xfff8_0000_0000_0000, nan, nan),
        (4.0_f64.to_bits(), 0.25_f64.to_bits(), 0.5_f64.to_bits()),
        // 2^1023: the reciprocal would be subnormal; its root is 2^511.5.
        (0x7fe0_0000_0000_0000, 0, 0x1ff6_a09e_0000_0000),
        // The lower 32 bits are ignored.
        (0x3ff0_0000_ffff_ffff, 1.0_f64.to_bits(), 1.0_f64.to_bits()),
        // 1/3 and 1/√3, 20 bits of each.
        (3.0_f64.to_bits(), 0x3fd5_5555_0000_0000, 0x3fe2_79a7_0000_0000),
    ] {
        assert_eq!(rcp(a), reciprocal, "{a:#x}");
        assert_eq!(rsqrt(a), root, "{a:#x}");
    }
    assert_eq!(rsqrt((-4.0_f64).to_bits()), nan);
    // Without .ftz it has full precision, and supports subnormals.
    let rsqrt = |a: f64| float_unary(FloatUnary::Rsqrt, PLAIN, Type::F64, a.to_bits());
    assert_eq!(rsqrt(4.0), 0.5_f64.to_bits());
    assert_eq!(rsqrt(-0.0), inf | sign);
    assert_eq!(rsqrt(2.0_f64.powi(-1074)), 2.0_f64.powi(537).to_bits());
    assert_eq!(rsqrt(f64::INFINITY), 0);
}

/// Correctly rounded values, computed with 200 bits by mpmath.
#[test]
fn approximations_have_the_recorded_values() {
    for (op, a, expected) in [
        (FloatUnary::Sin, 0x3f00_0000, 0x3ef5_7744),
        (FloatUnary::Sin, 0x3f80_0000, 0x3f57_6aa4),
        (FloatUnary::Sin, 0x4049_0fdb, 0xb3bb_bd2e),
        (FloatUnary::Sin, 0xc2c8_0000, 0x3f01_a12e),
        (FloatUnary::Sin, 0x4396_0000, 0xbf7f_f000),
        (FloatUnary::Sin, 0x3a83_126f, 0x3a83_126e),
        (FloatUnary::Cos, 0x3f00_0000, 0x3f60_a940),
        (FloatUnary::Cos, 0x3f80_0000, 0x3f0a_5140),
        (FloatUnary::Cos, 0x3fc9_0fdb, 0xb33b_bd2e),
        (FloatUnary::Cos, 0xc2c8_0000, 0x3f5c_c0ee),
        (FloatUnary::Cos, 0x4396_0000, 0xbcb5_03f8),
        (FloatUnary::Cos, 0x3a83_126f, 0x3f7f_fff8),
        (FloatUnary::Lg2, 0x3dcc_cccd, 0xc054_9a78),
        (FloatUnary::Lg2, 0x3f7f_fffe, 0xb438_aa3c),
        (FloatUnary::Lg2, 0x3f80_0001, 0x3438_aa3a),
        (FloatUnary::Lg2, 0x4120_0000, 0x4054_9a78),
        (FloatUnary::Lg2, 0x7f61_b1e6, 0x42ff_a2ef),
        (FloatUnary::Lg2, 0x0001_16c2, 0xc304_e08c),
        (FloatUnary::Ex2, 0x3dcc_cccd, 0x3f89_2fdf),
        (FloatUnary::Ex2, 0xbf33_3333, 0x3f1d_9624),
        (FloatUnary::Ex2, 0x4124_cccd, 0x449d_9625),
        (FloatUnary::Ex2, 0xc2fd_0000, 0x005a_827a),
        (FloatUnary::Ex2, 0xc314_b333, 0x0000_0001),
        (FloatUnary::Ex2, 0x42ff_fae1, 0x7f7e_3b37),
        (FloatUnary::Tanh, 0x3dcc_cccd, 0x3dcc_1ebc),
        (FloatUnary::Tanh, 0xbf33_3333, 0xbf1a_b7d9),
        (FloatUnary::Tanh, 0x4053_3333, 0x3f7f_4df0),
        (FloatUnary::Tanh, 0x4118_0000, 0x3f80_0000),
        (FloatUnary::Tanh, 0x3727_c5ac, 0x3727_c5ac),
        (FloatUnary::Tanh, 0xbc23_d70a, 0xbc23_d5a4),
        (FloatUnary::Rsqrt, 0x3dcc_cccd, 0x404a_62c2),
        (FloatUnary::Rsqrt, 0x4000_0000, 0x3f35_04f3),
        (FloatUnary::Rsqrt, 0x4040_0000, 0x3f13_cd3a),
        (FloatUnary::Rsqrt, 0x0001_16c2, 0x60ad_790a),
        (FloatUnary::Rsqrt, 0x7f61_b1e6, 0x1f88_52af),
        (FloatUnary::Rsqrt, 0x40f6_6666, 0x3eb8_8312),
    ] {
        assert_eq!(run(op, a), expected, "{op:?} {a:#x}");
    }
}

/// Compares the small functions with the general functions.
#[test]
fn small_functions_equal_the_general_ones() {
    let operations = [
        FloatUnary::Rsqrt,
        FloatUnary::Sin,
        FloatUnary::Cos,
        FloatUnary::Lg2,
        FloatUnary::Ex2,
        FloatUnary::Tanh,
    ];
    for a in (0..=u32::MAX).step_by(65_521) {
        for op in operations {
            let x = f32::from_bits(a);
            assert_eq!(bits(fast::elementary_f32(op, x)), run(op, u64::from(a)), "{op:?} {a:#x}");
        }
    }
}

/// The distance of two numbers in units in the last place of the second one as an f32.
fn ulps(result: f32, exact: f64) -> f64 {
    let exponent = (exact.abs().to_bits() >> 52) as i32 - 1023;
    (f64::from(result) - exact).abs() / 2.0_f64.powi(exponent.max(-126) - 23)
}

/// Checks the ISA's bounds on a dense sample, against double precision of the platform's own
/// library (not the one under test).
#[test]
fn errors_stay_within_the_bounds_of_the_isa() {
    type Exact = fn(f64) -> f64;
    let functions: [(FloatUnary, Exact); 8] = [
        (RCP, |x| 1.0 / x),
        (SQRT, f64::sqrt),
        (FloatUnary::Rsqrt, |x| 1.0 / x.sqrt()),
        (FloatUnary::Sin, f64::sin),
        (FloatUnary::Cos, f64::cos),
        (FloatUnary::Lg2, f64::log2),
        (FloatUnary::Ex2, f64::exp2),
        (FloatUnary::Tanh, f64::tanh),
    ];
    for (op, function) in functions {
        let mut greatest = 0.0_f64;
        for a in (0..=u32::MAX).step_by(4093) {
            let x = f32::from_bits(a);
            let exact = function(f64::from(x));
            let result = f32::from_bits(run(op, u64::from(a)) as u32);
            assert_eq!(result.is_nan(), exact.is_nan(), "{op:?} {x}");
            if exact.is_nan() || exact == 0.0 || exact.abs() > f64::from(f32::MAX) {
                continue;
            }
            greatest = greatest.max(ulps(result, exact));
        }
        // Half an ulp, plus a margin for the rounding of the double.
        println!("{op:?}: {greatest:.6} ulp");
        assert!(greatest <= 0.500_01, "{op:?}: {greatest} ulp");
    }
}

/// Checks the ISA's bounds for all `f16` and `bf16` values: relative errors of 2^−9.9 and 2^−7 for
/// `ex2`, absolute errors of 2^−10.987 and 2^−8 for `tanh`. Rounding the result to nearest may add
/// to these errors.
#[test]
fn errors_of_halves_stay_within_the_bounds_of_the_isa() {
    for (ty, mode, ex2_bound, tanh_bound) in
        [(Type::F16, PLAIN, -9.9_f64, -10.987_f64), (Type::Bf16, FLUSH, -7.0, -8.0)]
    {
        let value = |half: u64| -> f64 {
            if ty == Type::F16 {
                let magnitude = (half & 0x7fff) as f64;
                let (field, fraction) = ((half >> 10 & 31) as i32, (half & 0x3ff) as f64);
                let x = match field {
                    0 => magnitude * 2.0_f64.powi(-24),
                    31 if fraction == 0.0 => f64::INFINITY,
                    31 => f64::NAN,
                    _ => (1.0 + fraction / 1024.0) * 2.0_f64.powi(field - 15),
                };
                if half & 0x8000 == 0 { x } else { -x }
            } else {
                f64::from(f32::from_bits((half as u32) << 16))
            }
        };
        for a in 0..=0xffff {
            let x = value(a);
            if x.is_nan() {
                continue;
            }
            // Half a unit in the last place, plus a margin for the rounding of the double.
            let (min_exponent, fraction) = if ty == Type::F16 { (-14, 10) } else { (-126, 7) };
            let half_ulp = |exact: f64| {
                let exponent = (exact.abs().to_bits() >> 52) as i32 - 1023;
                0.500_01 * 2.0_f64.powi(exponent.max(min_exponent) - fraction)
            };
            let tanh = value(float_unary(FloatUnary::Tanh, PLAIN, ty, a));
            assert!((tanh - x.tanh()).abs() <= half_ulp(x.tanh()), "tanh {ty:?} {x}");
            assert!((tanh - x.tanh()).abs() <= tanh_bound.exp2(), "tanh {ty:?} {x}");
            let exact = x.exp2();
            let result = value(float_unary(FloatUnary::Ex2, mode, ty, a));
            let (least, greatest) = if ty == Type::F16 {
                (2.0_f64.powi(-14), 65504.0)
            } else {
                (2.0_f64.powi(-126), 3.3e38)
            };
            if exact >= least && exact <= greatest {
                assert!((result - exact).abs() <= half_ulp(exact), "ex2 {ty:?} {x}");
                assert!((result / exact - 1.0).abs() <= ex2_bound.exp2(), "ex2 {ty:?} {x}");
            } else if exact < least {
                assert!(result <= least, "ex2 {ty:?} {x}");
            } else {
                assert!(result >= greatest, "ex2 {ty:?} {x}");
            }
        }
    }
}
