//! Tests that a column-major library computes the right row-major products.

use level3_cublas::column_major::{ColumnMajor, Matmul, Operand, column_major};

/// `op(A) · op(B)` as cuBLAS's documentation defines it, on column-major memory.
fn column_major_product(call: &ColumnMajor, first: &[f32], second: &[f32]) -> Vec<f32> {
    let at = |operand: &Operand, memory: &[f32], i: usize, j: usize| {
        let (row, column) = if operand.transposed { (j, i) } else { (i, j) };
        assert!(row < operand.rows && column < operand.columns, "outside of {operand:?}");
        memory[column * operand.ld + row]
    };
    let mut result = vec![f32::NAN; call.result.ld * call.result.columns];
    for column in 0..call.result.columns {
        for row in 0..call.result.rows {
            let terms = (0..call.k)
                .map(|l| at(&call.first, first, row, l) * at(&call.second, second, l, column));
            result[column * call.result.ld + row] = terms.sum();
        }
    }
    result
}

#[test]
fn every_kind_of_product_is_the_row_major_one() {
    let [m, n, k] = [2, 3, 5];
    let a: Vec<f32> = (1..=m * k).map(|i| i as f32).collect();
    let b: Vec<f32> = (1..=k * n).map(|i| (i * i) as f32).collect();
    for matmul in [Matmul::ABt, Matmul::AtB, Matmul::AB] {
        let a_at = |i, l| if matmul == Matmul::AtB { a[l * m + i] } else { a[i * k + l] };
        let b_at = |l, j| if matmul == Matmul::ABt { b[j * k + l] } else { b[l * n + j] };
        let mut expected = Vec::new();
        for i in 0..m {
            for j in 0..n {
                expected.push((0..k).map(|l| a_at(i, l) * b_at(l, j)).sum::<f32>());
            }
        }
        let call = column_major(matmul, [m, n, k]);
        assert_eq!(column_major_product(&call, &b, &a), expected, "{matmul:?}");
    }
}
