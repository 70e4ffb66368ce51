//! Bessel functions and lengths of vectors, compared with computations in double on the host.

use crate::kernel::{Argument, as_floats, compile, floats, run};

/// The results of the expression `call` for some doubles `x`.
fn doubles(call: &str, x: &[f64]) -> Vec<f64> {
    let source = format!(
        "extern \"C\" __global__ void k(const double *a, double *out) {{
             double x = a[blockIdx.x * blockDim.x + threadIdx.x];
             out[blockIdx.x * blockDim.x + threadIdx.x] = {call};
         }}"
    );
    let bytes = |x: &[f64]| Argument::Bytes(x.iter().flat_map(|x| x.to_le_bytes()).collect());
    let grid = ([x.len() as u32 / 64, 1, 1], [64, 1, 1]);
    let (memory, _) = run(&compile(&source), "k", grid, &[bytes(x), bytes(&vec![0.0; x.len()])]);
    memory[1].chunks(8).map(|b| f64::from_le_bytes(b.try_into().unwrap())).collect()
}

/// Test points from 0 to `end`, which are closer together in the lower half.
fn sample_points(end: f64) -> Vec<f64> {
    (0..256).map(|i| end * f64::from(i) / 256.0 * if i < 128 { 0.1 } else { 1.0 }).collect()
}

/// Checks that the results have an error of at most `most` units in the last place, or of at most
/// `absolute`.
fn check(call: &str, x: &[f64], most: f64, absolute: f64, exact: impl Fn(f64) -> f64) {
    for (x, found) in x.iter().zip(doubles(call, x)) {
        let expected = exact(*x);
        let error = (found - expected).abs();
        let near = error <= most * f64::EPSILON * expected.abs() || error <= absolute;
        let same = found.to_bits() == expected.to_bits() || found.is_nan() && expected.is_nan();
        assert!(near || same, "{call} of {x:e}: {found:e}, expected {expected:e}");
    }
}

/// Near the zeros of the functions, the host's own relative errors are large, so there is an
/// absolute bound.
#[test]
fn bessel_functions_of_the_first_and_second_kind() {
    for (x, absolute) in [(sample_points(8.0), 2e-16), (sample_points(1000.0), 2e-15)] {
        check("j0(x)", &x, 8.0, absolute, libm::j0);
        check("j1(-x)", &x, 8.0, absolute, |x| -libm::j1(x));
        check("y0(x)", &x, 8.0, absolute, libm::y0);
        check("y1(x)", &x, 8.0, absolute, libm::y1);
        for n in [2, 5, 17, 128] {
            check(&format!("jn({n}, x)"), &x, 100.0, 5e-15, |x| libm::jn(n, x));
            check(&format!("jn({n}, -x)"), &x, 100.0, 5e-15, |x| libm::jn(n, -x));
            check(&format!("jn(-{n}, x)"), &x, 100.0, 5e-15, |x| libm::jn(-n, x));
            check(&format!("yn({n}, x)"), &x, 1000.0, 1e-14, |x| libm::yn(n, x));
        }
    }
    let special = [f64::INFINITY, f64::NEG_INFINITY, f64::NAN, -1.0].repeat(16);
    check("j0(x)", &special, 8.0, 0.0, libm::j0);
    check("j1(x)", &special, 8.0, 0.0, |x| if x.is_infinite() { 0.0 } else { libm::j1(x) });
    check("y0(x)", &special, 8.0, 0.0, |x| if x == f64::INFINITY { 0.0 } else { f64::NAN });
    check("y1(x)", &special, 8.0, 0.0, |x| if x == f64::INFINITY { 0.0 } else { f64::NAN });
}

#[test]
fn modified_bessel_functions() {
    // The power series, whose terms all have the same sign.
    let series = |x: f64, order: i32| {
        let mut term = if order == 0 { 1.0 } else { x / 2.0 };
        let mut sum = term;
        for k in 1..2000 {
            term *= x / 2.0 * (x / 2.0) / (f64::from(k) * f64::from(k + order));
            sum += term;
        }
        sum
    };
    for x in [sample_points(8.0), sample_points(300.0)] {
        check("cyl_bessel_i0(x)", &x, 40.0, 0.0, |x| series(x, 0));
        check("cyl_bessel_i1(-x)", &x, 40.0, 0.0, |x| -series(x, 1));
    }
    let special = [f64::INFINITY, 714.0, 800.0, f64::NAN].repeat(16);
    check("cyl_bessel_i0(x)", &special, 8.0, 0.0, |x| if x.is_nan() { x } else { f64::INFINITY });
}

#[test]
fn bessel_functions_of_float() {
    let x: Vec<f32> = (0..256).map(|i| i as f32 * 0.11).collect();
    for (call, exact) in [
        ("j0f(x)", libm::j0 as fn(f64) -> f64),
        ("j1f(x)", libm::j1),
        ("jnf(3, x)", |x| libm::jn(3, x)),
        ("y0f(x)", libm::y0),
        ("y1f(x)", libm::y1),
        ("ynf(3, x)", |x| libm::yn(3, x)),
    ] {
        let source = format!(
            "extern \"C\" __global__ void k(const float *a, float *out) {{ float x = a[threadIdx.x]; out[threadIdx.x] = {call}; }}"
        );
        let arguments = [floats(&x), floats(&[0.0; 256])];
        let (memory, _) = run(&compile(&source), "k", ([1, 1, 1], [256, 1, 1]), &arguments);
        for (x, found) in x.iter().zip(as_floats(&memory[1])) {
            let expected = exact(f64::from(*x)) as f32;
            let distance = found.to_bits().abs_diff(expected.to_bits());
            assert!(distance <= 1, "{call} of {x:e}: {found:e}, expected {expected:e}");
        }
    }
}

#[test]
fn lengths_of_vectors() {
    let x: Vec<f64> = (0..256).map(|i| f64::from(i - 100) * 10f64.powi((i % 9 - 4) * 70)).collect();
    let length = |values: &[f64]| {
        let most = values.iter().fold(0.0f64, |most, x| most.max(x.abs()));
        let sum: f64 = values.iter().map(|x| (x / most) * (x / most)).sum();
        if most == 0.0 { 0.0 } else { most * sum.sqrt() }
    };
    check("norm3d(x, 2.0 * x, -x)", &x, 4.0, 1e-323, |x| length(&[x, 2.0 * x, -x]));
    check("norm4d(x, 1.0, -x, x)", &x, 4.0, 1e-323, |x| length(&[x, 1.0, -x, x]));
    check("rnorm3d(x, 2.0 * x, 1e-9)", &x, 4.0, 1e-323, |x| 1.0 / length(&[x, 2.0 * x, 1e-9]));
    check("rnorm4d(x, 1.0, -x, x)", &x, 4.0, 1e-323, |x| 1.0 / length(&[x, 1.0, -x, x]));
    check("rhypot(x, 3.0)", &x, 4.0, 1e-323, |x| 1.0 / x.hypot(3.0));
    check("rcbrt(x)", &x, 2.0, 0.0, |x| 1.0 / x.cbrt());
    let list = "norm(5, (const double *)a) + 0.0 * x";
    check(list, &x, 4.0, 0.0, |_| length(&x[..5]));
}
