//! Products of real matrices.

use emulated_blas::{
    Compute, DataType, InputRounding, Matrix, MatrixOperation, Order, Product, Real, Scalar, Split,
};
use proptest::prelude::*;

use crate::buffer::{self, value};

/// Makes a matrix with gaps of `pad` elements between its columns or rows.
fn buffer(ty: DataType, sizes: (usize, usize), pad: usize, order: Order) -> buffer::Buffer {
    buffer::Buffer::new(ty, sizes, pad, order, |index| value(index + sizes.0))
}

/// The parameters of a product.
#[derive(Clone, Debug)]
struct Case {
    shape: (usize, usize, usize),
    transposed: (bool, bool),
    rows_first: (bool, bool, bool),
    pad: usize,
    types: (DataType, DataType, Compute),
    alpha: f64,
    beta: f64,
    capability: u32,
    /// The number of parts of each sum (split-K).
    parts: usize,
}

/// A case with column-major matrices, without transposition, split sums or scaling.
const PLAIN: Case = Case {
    shape: (0, 0, 0),
    transposed: (false, false),
    rows_first: (false, false, false),
    pad: 0,
    types: TYPES[0],
    alpha: 1.0,
    beta: 0.0,
    capability: 90,
    parts: 1,
};

fn operation(transposed: bool) -> MatrixOperation {
    if transposed { MatrixOperation::Transpose } else { MatrixOperation::None }
}

fn order(rows_first: bool) -> Order {
    if rows_first { Order::Row } else { Order::Column }
}

fn check(case: &Case) {
    let (m, n, k) = case.shape;
    let (ta, tb) = case.transposed;
    let (ab, c_type, compute) = case.types;
    let stored = |transposed, (rows, columns)| operation(transposed).sizes((rows, columns));
    let a = buffer(ab, stored(ta, (m, k)), case.pad, order(case.rows_first.0));
    let b = buffer(ab, stored(tb, (k, n)), case.pad + 1, order(case.rows_first.1));
    let [c, before] =
        [(); 2].map(|()| buffer(c_type, (m, n), 2 * case.pad, order(case.rows_first.2)));
    let views = [a.view(operation(ta)), b.view(operation(tb)), c.view(MatrixOperation::None)];
    let product = Product {
        alpha: Scalar::Value(case.alpha),
        beta: Scalar::Value(case.beta),
        split: Split { parts: case.parts },
        ..Product::new([m, n, k], views, compute, case.capability)
    };
    // SAFETY: the buffers are alive, large enough, and do not overlap.
    unsafe { product.run(None) }.unwrap();
    // Inputs are only rounded if both operands suit tensor cores.
    let suits = |matrix: &Matrix| {
        matrix.address.is_multiple_of(16)
            && (matrix.ld as u64 * matrix.ty.size()).is_multiple_of(16)
    };
    let fast = suits(&a.matrix) && suits(&b.matrix);
    let input = |x: f64| match compute {
        // Tensor cores support TF32 and bfloat16 since 8.0, and halves since 7.0.
        Compute::F32(inputs)
            if fast && case.capability >= if inputs == InputRounding::F16 { 70 } else { 80 } =>
        {
            f64::from((x as f32).rounded(inputs))
        }
        _ => x,
    };
    // The error of a sum is at most γ_k Σ|a||b|, times 2.5 if digits are truncated; storing adds a
    // rounding to the result's type.
    let unit = match compute {
        Compute::F64 => 2f64.powi(-53),
        // The sum is rounded to half precision once per group of at least four products.
        Compute::F16 if fast && case.capability >= 70 => 2f64.powi(-11) / 4.0,
        Compute::F16 | Compute::F32(_) => 2f64.powi(-24),
    };
    let stored = match c_type {
        DataType::F16 => 2f64.powi(-11),
        DataType::Bf16 => 2f64.powi(-8),
        DataType::F32 | DataType::C32 => 2f64.powi(-24),
        DataType::F64 | DataType::C64 => 2f64.powi(-53),
    };
    for row in 0..m {
        for column in 0..n {
            let (mut sum, mut size) = (0.0, 0.0);
            for depth in 0..k {
                let (row_a, column_a) = operation(ta).sizes((row, depth));
                let (row_b, column_b) = operation(tb).sizes((depth, column));
                let (left, right) = (a.get(row_a, column_a), b.get(row_b, column_b));
                sum += input(left) * input(right);
                size += (input(left) * input(right)).abs();
            }
            let old: f64 = before.get(row, column);
            let expected = case.alpha * sum + case.beta * old;
            let magnitude = case.alpha.abs() * size + (case.beta * old).abs();
            // Below the smallest normal half, the spacing of halves is constant.
            let least = if c_type == DataType::F16 { 2f64.powi(-14) } else { 1e-7 };
            let bound =
                (k as f64 + 4.0) * 2.5 * unit * magnitude + stored * expected.abs().max(least);
            let got: f64 = c.get(row, column);
            assert!(
                (got - expected).abs() <= bound,
                "[{row}, {column}]: {got}, not {expected}: {case:?}"
            );
        }
    }
    // The gaps between the columns must not be written.
    let (ld, beside, apart) = match order(case.rows_first.2) {
        Order::Column => (c.matrix.ld as usize, m, n),
        Order::Row => (c.matrix.ld as usize, n, m),
    };
    for line in 0..apart {
        for index in beside..ld {
            let [now, old]: [f64; 2] =
                [&c, &before].map(|buffer| buffer.element(line * ld + index));
            assert_eq!(now, old, "padding of line {line}: {case:?}");
        }
    }
}

const TYPES: [(DataType, DataType, Compute); 10] = [
    (DataType::F32, DataType::F32, Compute::F32(InputRounding::Full)),
    (DataType::F32, DataType::F32, Compute::F32(InputRounding::Tf32)),
    (DataType::F32, DataType::F32, Compute::F32(InputRounding::F16)),
    (DataType::F32, DataType::F32, Compute::F32(InputRounding::Bf16)),
    (DataType::F64, DataType::F64, Compute::F64),
    (DataType::F16, DataType::F16, Compute::F16),
    (DataType::F16, DataType::F16, Compute::F32(InputRounding::Full)),
    (DataType::Bf16, DataType::Bf16, Compute::F32(InputRounding::Full)),
    (DataType::F16, DataType::F32, Compute::F32(InputRounding::Full)),
    (DataType::Bf16, DataType::F32, Compute::F32(InputRounding::Full)),
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]
    #[test]
    fn every_shape_order_and_type(
        shape in (0usize..20, 0usize..20, 0usize..40),
        transposed in any::<(bool, bool)>(),
        rows_first in any::<(bool, bool, bool)>(),
        pad in 0usize..4,
        types in prop::sample::select(TYPES.to_vec()),
        alpha in prop::sample::select(vec![0.0, 1.0, -0.5, 2.0]),
        beta in prop::sample::select(vec![0.0, 1.0, -1.5]),
        capability in prop::sample::select(vec![61, 70, 75, 80, 86, 89, 90]),
        parts in 1usize..4,
    ) {
        check(&Case { shape, transposed, rows_first, pad, types, alpha, beta, capability, parts });
    }
}

#[test]
fn products_on_several_threads() {
    for types in TYPES {
        check(&Case { shape: (257, 130, 301), transposed: (true, false), pad: 3, types, ..PLAIN });
    }
}

/// More rows than a tile, longer sums, more columns than a panel, matrix-vector products, and thin
/// products of whole and partial vectors of rows and columns, with and without gaps between their
/// lines.
#[test]
fn products_of_several_tiles_and_thin_products() {
    let both = [false, true];
    let shapes = [
        (260, 5, 1030),
        (2100, 130, 3),
        (1300, 1, 37),
        (37, 1, 1300),
        (1, 700, 19),
        (1, 1, 70),
        (143, 9, 33),
        (143, 40, 9),
        (64, 32, 50),
        (6, 201, 70),
        (201, 2, 5),
    ];
    let orders = both.into_iter().flat_map(|a| both.map(|b| (a, b)));
    for (shape, transposed) in orders.flat_map(|order| shapes.map(|shape| (shape, order))) {
        for types in [TYPES[0], TYPES[4]] {
            for (pad, beta, rows_first) in
                [(0, 0.0, false), (3, -1.5, false), (1, 0.0, true), (0, 1.0, true)]
            {
                let (rows_first, alpha) = ((false, false, rows_first), 0.5);
                check(&Case { shape, transposed, rows_first, pad, types, alpha, beta, ..PLAIN });
            }
        }
    }
}

/// Thin products that are divided into parts, because their sums are too long or their columns too
/// many for one part.
#[test]
fn thin_products_of_several_parts() {
    for types in [TYPES[0], TYPES[4]] {
        for (shape, transposed) in [
            ((70, 6, 70_000), (false, false)),
            ((70, 6, 70_000), (true, false)),
            ((6, 70, 70_000), (false, true)),
            ((65, 1, 70_000), (false, false)),
            ((3, 2, 70_000), (true, false)),
            ((64, 90_001, 3), (false, false)),
            ((90_001, 64, 3), (false, true)),
        ] {
            let (pad, alpha, beta) = (1, -0.5, 2.0);
            check(&Case { shape, transposed, pad, types, alpha, beta, ..PLAIN });
        }
    }
}
