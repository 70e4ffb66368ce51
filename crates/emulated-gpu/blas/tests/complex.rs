//! Complex products compared with sums computed here in double precision.

#![allow(unsafe_code, reason = "products take addresses")]

use emulated_blas::{
    Column, Compute, DataType, InputRounding, Matrix, MatrixOperation, Order, Product, Scalar,
    Split, View,
};

type Complex = (f64, f64);

fn times(a: Complex, b: Complex) -> Complex {
    (a.0 * b.0 - a.1 * b.1, a.0 * b.1 + a.1 * b.0)
}

fn plus(a: Complex, b: Complex) -> Complex {
    (a.0 + b.0, a.1 + b.1)
}

/// Values whose parts are not exact in binary.
fn value(index: usize) -> Complex {
    let part = |index: usize| (((index * 7919 + 13) % 2003) as f64 / 1001.0 - 1.0) * 1.7;
    (part(2 * index), part(2 * index + 1))
}

/// A matrix in column order with a gap between its columns, in memory of its type.
struct Buffer {
    single: Vec<[f32; 2]>,
    double: Vec<[f64; 2]>,
    matrix: Matrix,
}

impl Buffer {
    fn new(ty: DataType, rows: usize, columns: usize, seed: usize) -> Self {
        let ld = rows + 2;
        let all = (0..ld * columns).map(|index| value(index + seed));
        let (mut single, mut double) = (Vec::new(), Vec::new());
        let address = if ty == DataType::C32 {
            single.extend(all.map(|(real, imaginary)| [real as f32, imaginary as f32]));
            single.as_mut_ptr() as u64
        } else {
            double.extend(all.map(|(real, imaginary)| [real, imaginary]));
            double.as_mut_ptr() as u64
        };
        let matrix = Matrix {
            name: "A",
            ld_name: "lda",
            address,
            ty,
            rows: rows as u64,
            columns: columns as u64,
            ld: ld as i64,
            order: Order::Column,
            batch: 1,
            batch_stride: 0,
        };
        Self { single, double, matrix }
    }

    fn at(&self, index: usize) -> Complex {
        match self.matrix.ty {
            DataType::C32 => (self.single[index][0].into(), self.single[index][1].into()),
            _ => (self.double[index][0], self.double[index][1]),
        }
    }

    /// An element of the matrix after an operation is applied.
    fn get(&self, operation: MatrixOperation, row: usize, column: usize) -> Complex {
        let (row, column) = operation.sizes((row, column));
        let (real, imaginary) = self.at(column * self.matrix.ld as usize + row);
        let turned = operation == MatrixOperation::ConjugateTranspose;
        (real, if turned { -imaginary } else { imaginary })
    }

    fn view(&self, operation: MatrixOperation) -> View {
        View::of_matrix(&self.matrix, operation, 0)
    }
}

const OPERATIONS: [MatrixOperation; 3] =
    [MatrixOperation::None, MatrixOperation::Transpose, MatrixOperation::ConjugateTranspose];
const ALPHA: Complex = (0.5, -1.25);
const BETA: Complex = (-0.75, 0.5);
const TYPES: [(DataType, Compute, i32); 3] = [
    (DataType::C32, Compute::F32(InputRounding::Full), -24),
    // Complex products don't use tensor cores.
    (DataType::C32, Compute::F32(InputRounding::Tf32), -24),
    (DataType::C64, Compute::F64, -53),
];

fn product(a: View, b: View, c: View, sizes: [usize; 3], compute: Compute) -> Product {
    let [alpha, beta] = [ALPHA, BETA].map(|(real, imaginary)| Scalar::Complex(real, imaginary));
    Product { alpha, beta, ..Product::new(sizes, [a, b, c], compute, 90) }
}

#[test]
fn every_operation_and_type() {
    for (shape, parts) in [([7, 5, 9], 1), ([70, 65, 80], 1), ([6, 4, 90], 3)] {
        let [m, n, k] = shape;
        for (ty, compute, unit) in TYPES {
            for (op_a, op_b) in OPERATIONS.into_iter().flat_map(|a| OPERATIONS.map(|b| (a, b))) {
                let (rows, columns) = op_a.sizes((m, k));
                let a = Buffer::new(ty, rows, columns, 1);
                let (rows, columns) = op_b.sizes((k, n));
                let b = Buffer::new(ty, rows, columns, 100);
                let (c, before) = (Buffer::new(ty, m, n, 200), Buffer::new(ty, m, n, 200));
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
                    let sum = (0..k).fold((0.0, 0.0), |sum, p| {
                        plus(sum, times(a.get(op_a, row, p), b.get(op_b, p, column)))
                    });
                    let old = before.get(MatrixOperation::None, row, column);
                    let expected = plus(times(ALPHA, sum), times(BETA, old));
                    let got = c.get(MatrixOperation::None, row, column);
                    // Each part of a sum has 2 k products of up to 1.7², and scaling doubles that
                    // again.
                    let bound =
                        2f64.powi(unit) * 1.5 * (k as f64 + 4.0) * (2 * k) as f64 * 1.7 * 1.7;
                    for (got, expected) in [(got.0, expected.0), (got.1, expected.1)] {
                        assert!(
                            (got - expected).abs() <= bound,
                            "[{row}, {column}]: {got}, not {expected}: {ty:?} {op_a:?} {op_b:?}"
                        );
                    }
                }
                for gap in (0..n).flat_map(|column| [0, 1].map(|i| column * (m + 2) + m + i)) {
                    assert_eq!(c.at(gap), before.at(gap), "between the columns");
                }
            }
        }
    }
}

#[test]
fn without_a_product_c_is_only_scaled() {
    let ty = DataType::C64;
    let (a, c) = (Buffer::new(ty, 3, 3, 1), Buffer::new(ty, 3, 3, 50));
    let [a_view, c_view] = [&a, &c].map(|buffer| buffer.view(MatrixOperation::None));
    let none = product(a_view, a_view, c_view, [3, 3, 3], Compute::F64);
    assert!(Scalar::Complex(0.0, 0.0).is_known_zero());
    assert!(!Scalar::Complex(0.0, 1.0).is_known_zero());
    let before: Vec<Complex> = (0..3).map(|row| c.get(MatrixOperation::None, row, 1)).collect();
    // SAFETY: the buffers are alive and large enough.
    unsafe { Product { alpha: Scalar::Complex(0.0, 0.0), ..none }.run(None) }.unwrap();
    for (row, old) in before.into_iter().enumerate() {
        let (got, expected) = (c.get(MatrixOperation::None, row, 1), times(BETA, old));
        assert!((got.0 - expected.0).abs() < 1e-15 && (got.1 - expected.1).abs() < 1e-15);
    }
}

#[test]
fn complex_products_refuse_epilogues() {
    let buffer = Buffer::new(DataType::C32, 2, 2, 0);
    let view = buffer.view(MatrixOperation::None);
    let mut finish = |_: usize, _: Column<'_>| ();
    let product = product(view, view, view, [2, 2, 2], Compute::F32(InputRounding::Full));
    // SAFETY: refused before anything is read; the result is overwritten.
    let refused = unsafe { product.run(Some(&mut finish)) }.unwrap_err();
    assert!(refused.message.contains("real numbers"), "{refused}");
}
