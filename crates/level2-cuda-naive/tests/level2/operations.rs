//! Tests of each operation against a few lines of plain Rust in double precision, with sizes that aren't
//! multiples of a block's.

use gpu::{Buffer, Launcher, Profiler, Result};
use level2_cuda_naive::Products;
use level2_cuda_naive::operations::Operations;
use tensor::Dtype;

/// Rows, columns and inner lengths: 1, sizes near a warp's 32 and a block's 8 rows, and primes.
const SIZES: [usize; 7] = [1, 2, 8, 9, 31, 33, 67];

struct Setup {
    on: Operations,
    /// The type to which the factors of products are rounded.
    dtype: Dtype,
    seed: u32,
}

/// Rounds to 10 bits after the point, halves away from zero, as `cvt.rna.tf32.f32`.
fn tf32(x: f32) -> f32 {
    f32::from_bits((x.to_bits() + 0x1000) & !0x1fff)
}

impl Setup {
    fn new() -> Self {
        Self::with_products(Products::Naive)
    }

    fn with_products(products: Products) -> Self {
        let gpu = test_support::gpu();
        let on = Operations::new(&gpu, Launcher::new(&gpu, &Profiler::off()), products);
        Self { on: on.unwrap(), dtype: products.dtype(), seed: 1 }
    }

    /// Random numbers between −2 and 2, on the host and on the device. The host's numbers are rounded as the kernel
    /// rounds factors of products; the device's aren't, because the kernel does that.
    fn random(&mut self, elements: usize) -> (Vec<f64>, Buffer) {
        let next = || {
            // The linear congruential generator of Numerical Recipes, whose high bits are random enough.
            self.seed = self.seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (self.seed >> 8) as f32 / (1 << 22) as f32 - 2.0
        };
        let host: Vec<f32> = std::iter::repeat_with(next).take(elements).collect();
        let device = self.on.stream().clone_htod(&host).unwrap();
        let taken = |x| if self.dtype == Dtype::Tf32 { tf32(x) } else { x };
        (host.into_iter().map(taken).map(f64::from).collect(), device)
    }

    /// A buffer filled with a wrong number. It has one more element, which must not be overwritten.
    fn output(&self, elements: usize) -> Buffer {
        self.on.stream().clone_htod(&vec![77.0_f32; elements + 1]).unwrap()
    }

    #[track_caller]
    fn check(&self, what: &str, done: Result<()>, found: &Buffer, expected: &[f64]) {
        done.unwrap();
        let found = self.on.launcher.read(&found.as_view(), found.len()).unwrap();
        assert_eq!(found.len(), expected.len() + 1);
        assert_eq!(found[expected.len()], 77.0, "{what} wrote past the end of its result");
        for (i, (found, expected)) in found.iter().zip(expected).enumerate() {
            let error = (f64::from(*found) - expected).abs();
            assert!(error <= 2e-5 * (1.0 + expected.abs()), "{what}[{i}]: {found}, not {expected}");
        }
    }
}

/// A matrix with the elements that `element` returns.
fn matrix(rows: usize, columns: usize, element: impl Fn(usize, usize) -> f64) -> Vec<f64> {
    (0..rows * columns).map(|i| element(i / columns, i % columns)).collect()
}

#[test]
fn products() {
    for products in Products::ALL {
        products_agree(products);
    }
}

fn products_agree(products: Products) {
    let mut setup = Setup::with_products(products);
    for m in SIZES {
        for n in SIZES {
            for k in [1, 4, 7, 33] {
                let shape = format!("m {m}, n {n}, k {k}");
                let sum = |term: &dyn Fn(usize) -> f64| (0..k).map(term).sum::<f64>();
                let (a, da) = setup.random(m * k);
                let (b, db) = setup.random(k * n);
                let mut c = setup.output(m * n);
                let done = setup.on.matmul_a_b(&da, &db, &mut c, m, n, k);
                let expected = matrix(m, n, |i, j| sum(&|l| a[i * k + l] * b[l * n + j]));
                setup.check(&format!("matmul_a_b, {shape}"), done, &c, &expected);

                let mut c = setup.output(m * n);
                let done = setup.on.matmul_a_bt(&da.as_view(), &db, &mut c, m, n, k);
                let expected = matrix(m, n, |i, j| sum(&|l| a[i * k + l] * b[j * k + l]));
                setup.check(&format!("matmul_a_bt, {shape}"), done, &c, &expected);

                let mut c = setup.output(m * n);
                let done = setup.on.matmul_at_b(&da, &db.as_view(), &mut c, m, n, k);
                let expected = matrix(m, n, |i, j| sum(&|l| a[l * m + i] * b[l * n + j]));
                setup.check(&format!("matmul_at_b, {shape}"), done, &c, &expected);
            }
        }
    }
}

/// Multiplies matrices that are larger than a tile in each direction. Variants that add in the same order give the same
/// bits.
#[test]
fn tiles_give_the_same_bits() {
    let (m, n, k) = (70, 131, 52);
    let product = |products| {
        let mut setup = Setup::with_products(products);
        let ((_, a), (_, b)) = (setup.random(m * k), setup.random(n * k));
        let mut c = setup.output(m * n);
        setup.on.matmul_a_bt(&a.as_view(), &b, &mut c, m, n, k).unwrap();
        setup.on.launcher.read(&c.as_view(), m * n).unwrap()
    };
    let naive = product(Products::Naive);
    for products in [Products::SharedTile, Products::RegisterTile, Products::Vectorised] {
        assert_eq!(product(products), naive, "{products}");
    }
    let apart = |(a, b): (&f32, &f32)| (a - b).abs();
    let coalesced = product(Products::Coalesced);
    let worst = naive.iter().zip(&coalesced).map(apart).fold(0.0, f32::max);
    assert!(worst > 0.0 && worst < 1e-4, "lanes add up in another order: {worst}");
    let wmma = product(Products::Wmma);
    assert_eq!(product(Products::Wmma), wmma, "from run to run");
    // The bound: a sum of 52 products below 4, both of whose factors have a relative error of at most 1/2048.
    let worst = naive.iter().zip(&wmma).map(apart).fold(0.0, f32::max);
    assert!(worst > 1e-4 && worst < 52.0 * 4.0 / 1000.0, "factors are rounded: {worst}");
}

#[test]
fn rows_and_columns() {
    let mut setup = Setup::new();
    for batch in SIZES {
        for n in SIZES {
            let shape = format!("batch {batch}, n {n}");
            let (z, dz) = setup.random(batch * n);
            let (b, db) = setup.random(n);
            let (y, dy) = setup.random(batch * n);

            let padded: Vec<f32> = z.iter().map(|z| *z as f32).chain([77.0]).collect();
            let mut out = setup.on.stream().clone_htod(&padded).unwrap();
            let done = setup.on.add_bias(&mut out, &db, batch, n);
            let expected = matrix(batch, n, |i, j| z[i * n + j] + b[j]);
            setup.check(&format!("add_bias, {shape}"), done, &out, &expected);

            let mut out = setup.output(batch * n);
            let done = setup.on.softmax(&dz, &mut out, batch, n);
            let sum = |i: usize| z[i * n..(i + 1) * n].iter().map(|z| z.exp()).sum::<f64>();
            let expected = matrix(batch, n, |i, j| z[i * n + j].exp() / sum(i));
            setup.check(&format!("softmax, {shape}"), done, &out, &expected);

            let mut out = setup.output(batch * n);
            let done = setup.on.output_gradient(&dz, &dy.as_view(), &mut out, batch, n);
            let expected = matrix(batch, n, |i, j| (z[i * n + j] - y[i * n + j]) / batch as f64);
            setup.check(&format!("output_gradient, {shape}"), done, &out, &expected);

            let mut out = setup.output(n);
            let done = setup.on.sum_batch(&dz, &mut out, batch, n);
            let expected = matrix(1, n, |_, j| (0..batch).map(|i| z[i * n + j]).sum());
            setup.check(&format!("sum_batch, {shape}"), done, &out, &expected);

            let (dz, dy) = (dz.as_view(), dy.as_view());
            let mut out = setup.output(batch);
            let done = setup.on.cross_entropy(&dz, &dy, &mut out, batch, n);
            let each = |i: usize, term: &dyn Fn(f64, f64) -> f64| {
                (0..n).map(|j| term(z[i * n + j], y[i * n + j])).sum::<f64>()
            };
            let expected = matrix(batch, 1, |i, _| each(i, &|z, y| -y * (z - sum(i).ln())));
            setup.check(&format!("cross_entropy, {shape}"), done, &out, &expected);

            let mut out = setup.output(batch);
            let done = setup.on.bce(&dz, &dy, &mut out, batch, n);
            let term = |z: f64, y: f64| {
                let p = 1.0 / (1.0 + (-z).exp());
                -(y * p.ln() + (1.0 - y) * (1.0 - p).ln())
            };
            let expected = matrix(batch, 1, |i, _| each(i, &term));
            setup.check(&format!("bce, {shape}"), done, &out, &expected);

            let mut out = setup.output(batch);
            let done = setup.on.squared_error(&dz, &dy, &mut out, batch, n);
            let expected = matrix(batch, 1, |i, _| each(i, &|z, y| 0.5 * (z - y) * (z - y)));
            setup.check(&format!("squared_error, {shape}"), done, &out, &expected);
        }
    }
}

#[test]
fn element_by_element() {
    let mut setup = Setup::new();
    for elements in [1, 31, 255, 256, 257, 1000] {
        let (z, dz) = setup.random(elements);
        let (da, dda) = setup.random(elements);
        let mut out = setup.output(elements);
        let done = setup.on.relu(&dz, &mut out, elements);
        let expected: Vec<f64> = z.iter().map(|z| z.max(0.0)).collect();
        setup.check("relu", done, &out, &expected);

        let mut out = setup.output(elements);
        let done = setup.on.relu_backward(&dda, &dz, &mut out, elements);
        let expected: Vec<f64> =
            z.iter().zip(&da).map(|(z, da)| if *z > 0.0 { *da } else { 0.0 }).collect();
        setup.check("relu_backward", done, &out, &expected);

        let mut out = setup.output(elements);
        let done = setup.on.sigmoid(&dz, &mut out, elements);
        let expected: Vec<f64> = z.iter().map(|z| 1.0 / (1.0 + (-z).exp())).collect();
        setup.check("sigmoid", done, &out, &expected);

        let padded: Vec<f32> = z.iter().map(|z| *z as f32).chain([77.0]).collect();
        let mut out = setup.on.stream().clone_htod(&padded).unwrap();
        let done = setup.on.update(&mut out, &dda, 0.25, elements);
        let expected: Vec<f64> = z.iter().zip(&da).map(|(z, da)| z - 0.25 * da).collect();
        setup.check("update", done, &out, &expected);

        let mut out = setup.output(elements);
        let done = setup.on.copy(&dz, &mut out, elements);
        setup.check("copy", done, &out, &z);
    }
}

/// The inputs are numbers whose exponential overflows or underflows, infinities and NaN.
#[test]
fn nan_is_propagated_and_extreme_inputs_have_finite_results() {
    let setup = Setup::new();
    let device = |values: &[f32]| setup.on.stream().clone_htod(values).unwrap();
    let read = |buffer: &Buffer| setup.on.launcher.read(&buffer.as_view(), buffer.len()).unwrap();
    let (mut p, mut loss) = (device(&[0.0; 3]), device(&[0.0]));
    let large = device(&[1000.0, -1000.0, 999.0]);
    let y = device(&[0.0, 1.0, 0.0]);

    setup.on.softmax(&large, &mut p, 1, 3).unwrap();
    let found = read(&p);
    assert!((found[0] - 0.731_058_6).abs() < 1e-6 && found[1] == 0.0, "{found:?}");
    setup.on.cross_entropy(&large.as_view(), &y.as_view(), &mut loss, 1, 3).unwrap();
    assert!((read(&loss)[0] - 2000.3132).abs() < 1e-3, "{:?}", read(&loss));
    setup.on.sigmoid(&large, &mut p, 3).unwrap();
    assert_eq!(read(&p), [1.0, 0.0, 1.0]);
    setup.on.bce(&large.as_view(), &y.as_view(), &mut loss, 1, 3).unwrap();
    assert_eq!(read(&loss), [1000.0 + 1000.0 + 999.0]);

    let broken = device(&[f32::NAN, -1.0, f32::INFINITY]);
    setup.on.relu(&broken, &mut p, 3).unwrap();
    let found = read(&p);
    assert!(found[0].is_nan() && found[1] == 0.0 && found[2] == f32::INFINITY, "{found:?}");
    setup.on.softmax(&device(&[f32::NAN, 1.0, 2.0]), &mut p, 1, 3).unwrap();
    assert!(read(&p).iter().all(|p| p.is_nan()), "{:?}", read(&p));
}

#[test]
fn a_buffer_that_is_too_small_is_an_error_before_the_launch() {
    let setup = Setup::new();
    let small = setup.output(3);
    let mut c = setup.output(6);
    let said = setup.on.matmul_a_b(&small, &small, &mut c, 2, 3, 4).unwrap_err().to_string();
    assert_eq!(said, "matmul_a_b: a holds 4 elements, and its shape needs 8");
}

/// `1 << 61` rows of 8 are 2^64 elements, which would wrap to 0 without a check.
#[test]
fn a_shape_whose_size_overflows_is_an_error() {
    let setup = Setup::new();
    let on = &setup.on;
    let (a, y) = (setup.output(8), setup.output(8));
    let (mut c, b) = (setup.output(8), setup.output(8));
    let (a, y) = (&a.as_view(), &y.as_view());
    for (rows, columns) in [(1 << 61, 8), (8, 1 << 61), (1 << 63, 2), (1 << 32, 1 << 32)] {
        let refused = [
            on.matmul_a_bt(a, &b, &mut c, rows, columns, columns),
            on.matmul_at_b(&b, a, &mut c, rows, columns, columns),
            on.matmul_a_b(&b, &b, &mut c, rows, columns, columns),
            on.add_bias(&mut c, &b, rows, columns),
            on.softmax(&b, &mut c, rows, columns),
            on.cross_entropy(a, y, &mut c, rows, columns),
            on.bce(a, y, &mut c, rows, columns),
            on.squared_error(a, y, &mut c, rows, columns),
            on.output_gradient(&b, y, &mut c, rows, columns),
            on.output_gradient_of_share(&b, y, &mut c, rows, columns, rows),
            on.sum_batch(&b, &mut c, rows, columns),
        ];
        for refused in refused {
            let said = refused.unwrap_err().to_string();
            assert!(said.ends_with("its shape needs more than can be counted"), "{said}");
        }
    }
    // Buffers with one axis, for which the number of operations would overflow too.
    for elements in [1 << 61, usize::MAX] {
        let refused = [
            on.relu(&b, &mut c, elements),
            on.relu_backward(&b, &b, &mut c, elements),
            on.sigmoid(&b, &mut c, elements),
            on.update(&mut c, &b, 0.1, elements),
            on.copy(&b, &mut c, elements),
        ];
        assert!(refused.iter().all(Result::is_err), "{refused:?}");
    }
}
