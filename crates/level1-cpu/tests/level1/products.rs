//! Tests that the products written as loops agree with their definitions, for all shapes.

#[path = "../../examples/products/loops.rs"]
#[expect(unreachable_pub, reason = "the book shows them without `pub(crate)`")]
mod loops;

use loops::WAYS;

/// The indices of element `[i, p]` of the left factor and `[p, j]` of the right one, for `m`, `n`, `k`.
type Layout = (fn(usize, usize, Shape) -> usize, fn(usize, usize, Shape) -> usize);

#[derive(Clone, Copy, Debug)]
struct Shape {
    m: usize,
    n: usize,
    k: usize,
}

const LAYOUTS: [Layout; 3] = [
    (|i, p, s| i * s.k + p, |p, j, s| j * s.k + p),
    (|i, p, s| p * s.m + i, |p, j, s| p * s.n + j),
    (|i, p, s| i * s.k + p, |p, j, s| p * s.n + j),
];

#[test]
fn every_version_computes_the_products() {
    let shapes = [(1, 1, 1), (3, 5, 7), (4, 32, 16), (37, 65, 33), (30, 784, 67), (256, 30, 784)];
    for (m, n, k) in shapes {
        let shape = Shape { m, n, k };
        let number = |i: usize| ((i * 2_654_435_761) % 1009) as f32 / 1009.0 - 0.5;
        let a: Vec<f32> = (0..m * k).map(number).collect();
        let b: Vec<f32> = (0..k * n).map(|i| number(i + 7)).collect();
        for (which, (at_a, at_b)) in LAYOUTS.into_iter().enumerate() {
            for (name, products) in WAYS {
                let mut c = vec![f32::NAN; m * n];
                products[which](&a, &b, &mut c, m, n, k);
                for (at, got) in c.into_iter().enumerate() {
                    let (i, j) = (at / n, at % n);
                    let terms = (0..k)
                        .map(|p| f64::from(a[at_a(i, p, shape)]) * f64::from(b[at_b(p, j, shape)]));
                    let (sum, sizes) =
                        terms.fold((0.0, 0.0), |(sum, sizes), x| (sum + x, sizes + x.abs()));
                    // The error bound of a sum of k products in single precision, in any order.
                    let bound = (k + 1) as f64 * f64::from(f32::EPSILON) / 2.0 * sizes * 1.001;
                    assert!(
                        (f64::from(got) - sum).abs() <= bound,
                        "{name}, product {which}, {shape:?}: c[{i}, {j}] is {got}, not {sum}"
                    );
                }
            }
        }
    }
}
