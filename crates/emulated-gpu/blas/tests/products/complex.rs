//! Products of complex matrices.

use emulated_blas::{
    Column, Compute, DataType, InputRounding, MatrixOperation, Order, Product, Scalar, Split, View,
    c64,
};

use crate::buffer::{Buffer, value};

/// Makes a column-major matrix with gaps between its columns.
fn buffer(ty: DataType, sizes: (usize, usize), seed: usize) -> Buffer {
    Buffer::new(ty, sizes, 2, Order::Column, |index| {
        c64::new(value(2 * (index + seed)), value(2 * (index + seed) + 1))
    })
}

/// An element of a matrix after an operation is applied.
fn get(buffer: &Buffer, operation: MatrixOperation, row: usize, column: usize) -> c64 {
    let (row, column) = operation.sizes((row, column));
    let element: c64 = buffer.get(row, column);
    if operation == MatrixOperation::ConjugateTranspose { element.conj() } else { element }
}

const OPERATIONS: [MatrixOperation; 3] =
    [MatrixOperation::None, MatrixOperation::Transpose, MatrixOperation::ConjugateTranspose];
const ALPHA: c64 = c64::new(0.5, -1.25);
const BETA: c64 = c64::new(-0.75, 0.5);
const TYPES: [(DataType, Compute, i32); 3] = [
    (DataType::C32, Compute::F32(InputRounding::Full), -24),
    // Complex products don't use tensor cores.
    (DataType::C32, Compute::F32(InputRounding::Tf32), -24),
    (DataType::C64, Compute::F64, -53),
];

fn product(a: View, b: View, c: View, sizes: [usize; 3], compute: Compute) -> Product {
    let [alpha, beta] = [ALPHA, BETA].map(|scalar| Scalar::Complex(scalar.re, scalar.im));
    Product { alpha, beta, ..Product::new(sizes, [a, b, c], compute, 90) }
}

#[test]
fn every_operation_and_type() {
    for (shape, parts) in [([7, 5, 9], 1), ([70, 65, 80], 1), ([6, 4, 90], 3)] {
        let [m, n, k] = shape;
        for (ty, compute, unit) in TYPES {
            for (op_a, op_b) in OPERATIONS.into_iter().flat_map(|a| OPERATIONS.map(|b| (a, b))) {
                let a = buffer(ty, op_a.sizes((m, k)), 1);
                let b = buffer(ty, op_b.sizes((k, n)), 100);
                let (c, before) = (buffer(ty, (m, n), 200), buffer(ty, (m, n), 200));
                let product = Product {
                    split: Split { parts },
                    ..product(
                        a.view(op_a),
                        b.view(op_b),
                        c.view(MatrixOperation::None),
                        shape,
                        compute,
                    )
                };
                product.check_memory().unwrap();
                // SAFETY: the buffers are alive, large enough, and do not overlap.
                unsafe { product.run(None) }.unwrap();
                for (row, column) in (0..m).flat_map(|row| (0..n).map(move |column| (row, column)))
                {
                    let product = |p| get(&a, op_a, row, p) * get(&b, op_b, p, column);
                    let old: c64 = before.get(row, column);
                    let expected = ALPHA * (0..k).map(product).sum::<c64>() + BETA * old;
                    let got: c64 = c.get(row, column);
                    // Each part of a sum has 2 k products of up to 1.7², and scaling doubles that
                    // again.
                    let bound =
                        2f64.powi(unit) * 1.5 * (k as f64 + 4.0) * (2 * k) as f64 * 1.7 * 1.7;
                    for (got, expected) in [(got.re, expected.re), (got.im, expected.im)] {
                        assert!(
                            (got - expected).abs() <= bound,
                            "[{row}, {column}]: {got}, not {expected}: {ty:?} {op_a:?} {op_b:?}"
                        );
                    }
                }
                for gap in (0..n).flat_map(|column| [0, 1].map(|i| column * (m + 2) + m + i)) {
                    assert_eq!(c.element::<c64>(gap), before.element(gap), "between the columns");
                }
            }
        }
    }
}

#[test]
fn without_a_product_c_is_only_scaled() {
    let ty = DataType::C64;
    let (a, c) = (buffer(ty, (3, 3), 1), buffer(ty, (3, 3), 50));
    let [a_view, c_view] = [&a, &c].map(|buffer| buffer.view(MatrixOperation::None));
    let none = product(a_view, a_view, c_view, [3, 3, 3], Compute::F64);
    assert!(Scalar::Complex(0.0, 0.0).is_known_zero());
    assert!(!Scalar::Complex(0.0, 1.0).is_known_zero());
    let before: Vec<c64> = (0..3).map(|row| c.get(row, 1)).collect();
    // SAFETY: the buffers are alive and large enough.
    unsafe { Product { alpha: Scalar::Complex(0.0, 0.0), ..none }.run(None) }.unwrap();
    for (row, old) in before.into_iter().enumerate() {
        let error = c.get::<c64>(row, 1) - BETA * old;
        assert!(error.re.abs() < 1e-15 && error.im.abs() < 1e-15);
    }
}

#[test]
fn complex_products_refuse_epilogues() {
    let buffer = buffer(DataType::C32, (2, 2), 0);
    let view = buffer.view(MatrixOperation::None);
    let mut finish = |_: usize, _: Column<'_>| ();
    let product = product(view, view, view, [2, 2, 2], Compute::F32(InputRounding::Full));
    // SAFETY: the product is refused before an operand is read, and its result is writable.
    let refused = unsafe { product.run(Some(&mut finish)) }.unwrap_err();
    assert!(refused.message.contains("real numbers"), "{refused}");
}
