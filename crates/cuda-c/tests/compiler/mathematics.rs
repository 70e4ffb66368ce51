//! The functions of `math.h`, against the same in double on the host.

use crate::common::{as_floats, compile, floats, run};

/// Arguments of all sizes, of both signs.
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
        // The float beside the nearest one, where the true value lies almost in the middle.
        let beside = rounded.to_bits().abs_diff(found.to_bits()) == 1;
        let error = (f64::from(found) - expected).abs()
            / (expected.abs() * f64::from(f32::EPSILON)).max(1e-45);
        assert!(
            same || beside && error < 1.1,
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
fn whole_numbers_and_signs() {
    check("floorf(x)", |x, _| x.floor());
    check("ceilf(x)", |x, _| x.ceil());
    check("truncf(x)", |x, _| x.trunc());
    check("roundf(x)", |x, _| x.round());
    check("rintf(x)", |x, _| x.round_ties_even());
    check("copysignf(x, y)", |x, y| if x.is_nan() { x } else { x.copysign(y) });
    check("fabsf(x)", |x, _| x.abs());
    check("sqrtf(x)", |x, _| x.sqrt());
}
