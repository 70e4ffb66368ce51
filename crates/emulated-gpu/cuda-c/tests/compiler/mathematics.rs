//! Compares the functions of `math.h` with the host's functions.

use crate::kernel::{as_floats, compile, floats, run};

/// Arguments of all magnitudes and both signs.
fn arguments() -> Vec<f32> {
    let mut values = vec![
        0.0,
        -0.0,
        1.0,
        -1.0,
        f32::INFINITY,
        f32::NEG_INFINITY,
        f32::NAN,
        f32::MAX,
        f32::MIN_POSITIVE,
        1e-45,
    ];
    let mut bits = 12345u32;
    while values.len() < 4096 {
        bits = bits.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        values.push(f32::from_bits(bits));
        values.push((bits >> 8) as f32 / 65_536.0 - 128.0);
    }
    values.truncate(4096);
    values
}

fn check(call: &str, exact: impl Fn(f64, f64) -> f64) {
    let source = format!(
        "extern \"C\" __global__ void k(const float *a, const float *b, float *out) {{\n\
         int i = blockIdx.x * blockDim.x + threadIdx.x; float x = a[i], y = b[i]; out[i] = {call}; }}"
    );
    let text = compile(&source);
    let x = arguments();
    let mut y: Vec<f32> = x.iter().rev().copied().collect();
    y.iter_mut().skip(1).step_by(3).for_each(|v| *v = (*v).clamp(-9.0, 9.0).trunc());
    let memory = [floats(&x), floats(&y), floats(&vec![0.0; 4096])];
    let (memory, _) = run(&text, "k", ([16, 1, 1], [256, 1, 1]), &memory);
    for ((x, y), found) in x.iter().zip(&y).zip(as_floats(&memory[2])) {
        let expected = exact(f64::from(*x), f64::from(*y));
        let rounded = expected as f32;
        let same = rounded.to_bits() == found.to_bits() || rounded.is_nan() && found.is_nan();
        // If the exact value is almost halfway between two floats, both floats are accepted.
        let adjacent = rounded.to_bits().abs_diff(found.to_bits()) == 1;
        let error = (f64::from(found) - expected).abs()
            / (expected.abs() * f64::from(f32::EPSILON)).max(1e-45);
        assert!(
            same || adjacent && error < 1.1,
            "{call} of {x:e}, {y:e}: {found:e}, expected {rounded:e}"
        );
    }
}

#[test]
fn exponentials_and_logarithms() {
    check("expf(x)", |x, _| x.exp());
    check("exp2f(x)", |x, _| x.exp2());
    check("expm1f(x)", |x, _| x.exp_m1());
    check("logf(x)", |x, _| x.ln());
    check("log2f(x)", |x, _| x.log2());
    check("log10f(x)", |x, _| x.log10());
    check("log1pf(x)", |x, _| x.ln_1p());
}

#[test]
fn hyperbolic_functions() {
    check("tanhf(x)", |x, _| x.tanh());
    check("sinhf(x)", |x, _| x.sinh());
    check("coshf(x)", |x, _| x.cosh());
}

#[test]
fn powers_and_remainders() {
    check("powf(x, y)", |x, y| if x == 1.0 || y == 0.0 { 1.0 } else { x.powf(y) });
    check("fmodf(x, y)", |x, y| x % y);
}

#[test]
fn trigonometric_functions() {
    check("sinf(x)", |x, _| x.sin());
    check("cosf(x)", |x, _| x.cos());
    check("tanf(x)", |x, _| x.tan());
    check("asinf(x)", |x, _| x.asin());
    check("acosf(x)", |x, _| x.acos());
    check("atanf(x)", |x, _| x.atan());
    check("atan2f(x, y)", f64::atan2);
    let turned = |x: f64| x - 2.0 * (x / 2.0).round();
    check("cospif(x)", |x, _| {
        let half = (turned(x).abs() == 0.5).then_some(0.0);
        half.unwrap_or_else(|| (turned(x) * std::f64::consts::PI).cos())
    });
    check("sinpif(x)", |x, _| {
        let whole = (x.trunc() == x && x.is_finite()).then_some(0.0_f64.copysign(x));
        whole.unwrap_or_else(|| (turned(x) * std::f64::consts::PI).sin())
    });
}

#[test]
fn error_functions_roots_and_inverses() {
    check("erff(x)", |x, _| libm::erf(x));
    check("erfcf(x)", |x, _| libm::erfc(x));
    check("normcdff(x)", |x, _| 0.5 * libm::erfc(-x * std::f64::consts::FRAC_1_SQRT_2));
    check("cbrtf(x)", |x, _| x.cbrt());
    check("asinhf(x)", |x, _| libm::asinh(x));
    check("acoshf(x)", |x, _| x.acosh());
    check("atanhf(x)", |x, _| libm::atanh(x));
    check("__frsqrt_rn(x)", |x, _| 1.0 / x.sqrt());
    check("hypotf(x, y)", f64::hypot);
}

#[test]
fn parts_of_a_float() {
    check("ldexpf(x, (int)y)", |x, y| libm::ldexp(x, (y as i32).clamp(-400, 400)));
    check("ilogbf(x) == INT_MAX ? 0.0f : logbf(x)", |x, _| match x {
        _ if x == 0.0 => f64::NEG_INFINITY,
        _ if x.is_infinite() => 0.0,
        _ if x.is_nan() => f64::NAN,
        _ => f64::from(libm::ilogb(x)),
    });
    let parts = "frexpf(x, (int *)&y) + (float)(isfinite(x) ? (*(int *)&y) : 0) * 4.0f";
    check(parts, |x, _| match libm::frexp(x) {
        (m, e) if x.is_finite() => f64::from((m + f64::from(e) * 4.0) as f32),
        _ => x,
    });
    check("modff(x, &y)", |x, _| {
        if x.is_infinite() { 0.0_f64.copysign(x) } else { x.fract().copysign(x) }
    });
}

/// Checks that a function of double is within `most` units in the last place of the host's function, whose error is
/// less than one unit.
fn check_double(call: &str, from: f64, to: f64, most: u64, exact: impl Fn(f64) -> f64) {
    let source = format!(
        "extern \"C\" __global__ void k(const double *a, double *out) {{\n\
         int i = blockIdx.x * blockDim.x + threadIdx.x; double x = a[i]; out[i] = {call}; }}"
    );
    let text = compile(&source);
    let mut x = vec![0.0, -0.0, 1.0, -1.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 5e-324];
    let mut state = 1u64;
    while x.len() < 2048 {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let value = from + (to - from) * (state >> 11) as f64 / (1u64 << 53) as f64;
        x.push(if x.len().is_multiple_of(3) {
            value
        } else {
            value * 0.5f64.powi((state % 50) as i32)
        });
    }
    let bytes = |values: &[f64]| {
        crate::kernel::Argument::Bytes(values.iter().flat_map(|v| v.to_le_bytes()).collect())
    };
    let memory = [bytes(&x), bytes(&vec![0.0; 2048])];
    let (memory, _) = run(&text, "k", ([8, 1, 1], [256, 1, 1]), &memory);
    for (x, found) in x.iter().zip(memory[1].chunks(8)) {
        let found = f64::from_le_bytes(found.try_into().unwrap());
        let expected = exact(*x);
        let apart = found.to_bits().abs_diff(expected.to_bits());
        let same = apart <= most || found.is_nan() && expected.is_nan();
        assert!(same, "{call} of {x:e}: {found:e}, expected {expected:e}");
    }
}

#[test]
fn functions_of_double() {
    check_double("exp(x)", -760.0, 720.0, 1, f64::exp);
    check_double("exp2(x)", -1090.0, 1030.0, 1, f64::exp2);
    check_double("exp10(x)", -330.0, 310.0, 1, |x| 10f64.powf(x));
    check_double("expm1(x)", -50.0, 720.0, 1, f64::exp_m1);
    check_double("log(x)", -1.0, 1e300, 1, f64::ln);
    check_double("log2(x)", -1.0, 3.0, 1, f64::log2);
    check_double("log10(x)", -1.0, 1e9, 1, f64::log10);
    check_double("log1p(x)", -1.0, 1e9, 1, f64::ln_1p);
    check_double("tanh(x)", -25.0, 25.0, 2, f64::tanh);
    check_double("sinh(x)", -715.0, 715.0, 2, f64::sinh);
    check_double("cosh(x)", -715.0, 715.0, 2, f64::cosh);
    check_double("cbrt(x)", -1e300, 1e300, 1, f64::cbrt);
    check_double("pow(x, 2.75)", 0.0, 1e100, 1, |x| x.powf(2.75));
    check_double("pow(x, -3.0)", -1e100, 1e100, 1, |x| x.powf(-3.0));
    check_double("pow(1.5, x)", -1800.0, 1800.0, 1, |x| 1.5f64.powf(x));
    check_double("hypot(x, 3.0)", -9.0, 9.0, 1, |x| x.hypot(3.0));
    check_double("rsqrt(x)", -1.0, 1e30, 1, |x| 1.0 / x.sqrt());
    check_double("sqrt(x)", -1.0, 1e30, 0, f64::sqrt);
}

#[test]
fn rounding_and_signs() {
    check("floorf(x)", |x, _| x.floor());
    check("ceilf(x)", |x, _| x.ceil());
    check("truncf(x)", |x, _| x.trunc());
    check("roundf(x)", |x, _| x.round());
    check("rintf(x)", |x, _| x.round_ties_even());
    check("copysignf(x, y)", |x, y| if x.is_nan() { x } else { x.copysign(y) });
    check("fabsf(x)", |x, _| x.abs());
    check("sqrtf(x)", |x, _| x.sqrt());
}

#[test]
fn trigonometric_functions_of_double() {
    for scale in [4.0, 1e5, 1e15, 1e300] {
        check_double("sin(x)", -scale, scale, 4, libm::sin);
        check_double("cos(x)", -scale, scale, 4, libm::cos);
        check_double("tan(x)", -scale, scale, 4, libm::tan);
        check_double("atan(x)", -scale, scale, 4, libm::atan);
        check_double("atan2(x, -2.0)", -scale, scale, 4, |x| libm::atan2(x, -2.0));
        check_double("asinh(x)", -scale, scale, 4, libm::asinh);
        check_double("acosh(fabs(x) + 1.0)", -scale, scale, 4, |x| libm::acosh(x.abs() + 1.0));
        check_double("fmod(x, 0.7)", -scale, scale, 4, |x| libm::fmod(x, 0.7));
    }
    check_double("asin(x)", -1.0, 1.0, 8, libm::asin);
    check_double("acos(x)", -1.0, 1.0, 8, libm::acos);
    check_double("atanh(x)", -1.0, 1.0, 8, libm::atanh);
}

#[test]
fn special_functions_of_double() {
    check_double("erf(x)", -6.0, 6.0, 8, libm::erf);
    check_double("erfc(x)", -6.0, 6.0, 8, libm::erfc);
    check_double("erfcx(fmin(fmax(x, -5.0), 5.0))", -5.0, 5.0, 40, |x| {
        let x = if x.is_nan() { -5.0 } else { x.clamp(-5.0, 5.0) };
        (x * x).exp() * libm::erfc(x)
    });
    check_double("lgamma(fabs(x) + 3.0)", -200.0, 200.0, 8, |x| libm::lgamma(x.abs() + 3.0));
    check_double("tgamma(fabs(x))", -100.0, 100.0, 8, |x| libm::tgamma(x.abs()));
    // Applying a function and its inverse gives the original value.
    check_double("fabs(x) < 0.999 ? erf(erfinv(x)) : x", -0.999, 0.999, 8, |x| x);
    check_double("x > 1e-9 && x < 0.4 ? normcdf(normcdfinv(x)) : x", -0.4, 0.4, 256, |x| x);
    check_double("x > 1e-9 && x < 1.0 ? erfc(erfcinv(x)) : x", -1.0, 1.0, 256, |x| x);
}
