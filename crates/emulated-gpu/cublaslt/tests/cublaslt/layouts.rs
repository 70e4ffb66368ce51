//! Tests of matrix orders, transpositions, leading dimensions and batches.

use crate::support::{Call, CublasLt, Shape, Type};

const F32: Type = Type::F32;

fn values(count: usize, seed: usize) -> Vec<f64> {
    (0..count).map(|i| ((i * 37 + seed * 11) % 16) as f64 / 4.0 - 2.0).collect()
}

/// All orders of all matrices and all transpositions, with gaps between lines and with `C` and `D`
/// in separate memory.
#[test]
fn every_order_and_transposition() {
    let lt = CublasLt::new();
    let (m, n, k) = (3, 5, 4);
    for bits in 0..64 {
        let bit = |index: usize| bits >> index & 1 == 1;
        let shape = |rows: usize, columns: usize, in_rows: bool, gap: usize| {
            let shape = if in_rows {
                Shape::in_row_order(F32, rows, columns)
            } else {
                Shape::new(F32, rows, columns)
            };
            Shape { ld: shape.ld + gap, ..shape }
        };
        let (ta, tb) = (bit(0), bit(1));
        let a = if ta { shape(k, m, bit(2), 1) } else { shape(m, k, bit(2), 1) };
        let b = if tb { shape(n, k, bit(3), 2) } else { shape(k, n, bit(3), 2) };
        let (c, d) = (shape(m, n, bit(4), 0), shape(m, n, bit(5), 3));
        let [va, vb, vc, vd] = [0, 1, 2, 3].map(|seed| values(80, seed));
        let memory = [&va, &vb, &vc, &vd].map(|values| lt.numbers(F32, values));
        let addresses = [0, 1, 2, 3].map(|index: usize| lt.address(&memory[index]));
        let call = Call {
            operations: (ta.into(), tb.into()),
            epilogue: 2,
            scalars: (0.5, -1.0),
            ..Call::new([a, b, c, d], addresses)
        };
        assert_eq!(call.run(&lt), (0, 0), "{bits:06b}");
        let got = lt.get_numbers(F32, &memory[3]);
        let mut expected = vd.clone();
        for row in 0..m {
            for column in 0..n {
                let sum: f64 = (0..k)
                    .map(|p| {
                        let left = va[if ta { a.at(p, row) } else { a.at(row, p) }];
                        let right = vb[if tb { b.at(column, p) } else { b.at(p, column) }];
                        left * right
                    })
                    .sum();
                expected[d.at(row, column)] = (0.5 * sum - vc[c.at(row, column)]).max(0.0);
            }
        }
        assert_eq!(got, expected, "{bits:06b}");
    }
}

/// The batch repeats a single `A`, and has a bias and a mask for each matrix.
#[test]
fn batches_apply_every_stride() {
    let lt = CublasLt::new();
    let (m, n, k, batch) = (5, 3, 2, 4);
    let (a, b) = (values(m * k, 1), values(k * n * batch, 2));
    let bias = values(8 * batch, 3);
    let memory = [&a, &b, &bias].map(|values| lt.numbers(F32, values));
    let d = lt.numbers(F32, &vec![9.0; 20 * batch]);
    let mask = lt.put(&vec![0u8; 16 * n * batch]);
    let stacked = |shape: Shape, stride: i64| Shape { batch: batch as i32, stride, ..shape };
    let result = stacked(Shape::new(F32, m, n), 20);
    let shapes = [
        stacked(Shape::new(F32, m, k), 0),
        stacked(Shape::new(F32, k, n), (k * n) as i64),
        result,
        result,
    ];
    let d_address = lt.address(&d);
    let addresses = [lt.address(&memory[0]), lt.address(&memory[1]), d_address, d_address];
    let call = Call {
        epilogue: 134,
        bias: lt.address(&memory[2]),
        bias_stride: 8,
        aux: lt.address(&mask),
        aux_ld: 128,
        aux_stride: 128 * n as i64,
        ..Call::new(shapes, addresses)
    };
    assert_eq!(call.run(&lt), (0, 0));
    let (got, bits) = (lt.get_numbers(F32, &d), lt.get(&mask));
    for index in 0..batch {
        for column in 0..n {
            for row in 0..m {
                let sum: f64 =
                    (0..k).map(|p| a[p * m + row] * b[index * k * n + column * k + p]).sum();
                let input = sum + bias[index * 8 + row];
                assert_eq!(got[index * 20 + column * m + row], input.max(0.0));
                let byte = bits[16 * (index * n + column)];
                assert_eq!(byte >> row & 1 == 1, input >= 0.0);
            }
        }
        assert_eq!(got[index * 20 + 15..][..5], [9.0; 5], "the gap is untouched");
    }
}

/// With a smaller promised alignment, operands can be parts of a larger buffer.
#[test]
fn a_smaller_alignment_can_be_promised() {
    let lt = CublasLt::new();
    let memory = lt.numbers(F32, &values(40, 1));
    let d = lt.numbers(F32, &[0.0; 9]);
    let shape = Shape::new(F32, 2, 2);
    let base = lt.address(&memory);
    let addresses = [base + 4, base + 36, lt.address(&d) + 4, lt.address(&d) + 4];
    let call = Call { alignment: Some(4), ..Call::new([shape; 4], addresses) };
    assert_eq!(call.run(&lt), (0, 0));
    let v = values(40, 1);
    let expected = [
        v[1] * v[9] + v[3] * v[10],
        v[2] * v[9] + v[4] * v[10],
        v[1] * v[11] + v[3] * v[12],
        v[2] * v[11] + v[4] * v[12],
    ];
    assert_eq!(lt.get_numbers(F32, &d)[1..5], expected);
}

/// A leading dimension of 0 repeats one column of `C` (or one row, if row-major).
#[test]
fn one_column_of_c_can_be_repeated() {
    let lt = CublasLt::new();
    let (m, n, k, batch) = (4, 3, 2, 2);
    let [va, vb, vc] = [m * k, k * n, 2 * m].map(|count| values(count, count));
    for in_rows in [false, true] {
        let memory = [&va, &vb, &vc].map(|values| lt.numbers(F32, values));
        let d = lt.numbers(F32, &vec![9.0; m * n * batch]);
        let shape = |rows, columns| {
            if in_rows {
                Shape::in_row_order(F32, rows, columns)
            } else {
                Shape::new(F32, rows, columns)
            }
        };
        let stacked = |shape: Shape, stride: i64| Shape { batch: batch as i32, stride, ..shape };
        let c = stacked(Shape { ld: 0, ..shape(m, n) }, m as i64);
        let shapes = [
            stacked(shape(m, k), 0),
            stacked(shape(k, n), 0),
            c,
            stacked(shape(m, n), (m * n) as i64),
        ];
        let [a, b, c_address] = [0, 1, 2].map(|index: usize| lt.address(&memory[index]));
        let addresses = [a, b, c_address, lt.address(&d)];
        let call = Call { scalars: (0.5, -1.0), ..Call::new(shapes, addresses) };
        assert_eq!(call.run(&lt), (0, 0), "{in_rows}");
        let got = lt.get_numbers(F32, &d);
        for (index, row, column) in (0..batch).flat_map(|index| {
            (0..m).flat_map(move |row| (0..n).map(move |column| (index, row, column)))
        }) {
            let sum: f64 =
                (0..k).map(|p| va[shapes[0].at(row, p)] * vb[shapes[1].at(p, column)]).sum();
            let added = vc[index * m + if in_rows { column } else { row }];
            let at = index * m * n + shapes[3].at(row, column);
            assert_eq!(got[at], 0.5 * sum - added, "{in_rows}: {index} {row} {column}");
        }
        // A leading dimension of 0 is refused for the other matrices; for example, the columns of D
        // would overwrite each other.
        for matrix in [0, 1, 3] {
            let mut shapes = shapes;
            shapes[matrix].ld = 0;
            assert_eq!(Call { shapes, ..call.clone() }.run(&lt), (7, 7), "{matrix}");
        }
        let mut same = addresses;
        same[3] = same[2];
        assert_eq!(Call { addresses: same, ..call.clone() }.run(&lt), (0, 7), "C is D");
    }
}
