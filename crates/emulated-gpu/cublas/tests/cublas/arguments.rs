//! Tests with random arguments: a product is computed if every operand is inside its buffer, and
//! refused otherwise; no other memory is written.

use cudarc::cublas::sys::cublasOperation_t;
use proptest::prelude::*;

use crate::support::{Blas, Messages};

/// The arguments of `cublasSgemm_v2`, and the lengths of the buffers.
#[derive(Clone, Copy, Debug)]
struct Arguments {
    transposed: (bool, bool),
    sizes: (i32, i32, i32),
    lds: (i32, i32, i32),
    buffer_lengths: (usize, usize, usize),
    beta: f32,
}

impl Arguments {
    /// For each operand: the rows and columns of the stored matrix, the leading dimension, and the
    /// length of the buffer.
    fn operands(&self) -> [(i32, i32, i32, usize); 3] {
        let (m, n, k) = self.sizes;
        let turned =
            |turned: bool, rows, columns| if turned { (columns, rows) } else { (rows, columns) };
        let (ta, tb) = self.transposed;
        let ((ra, ca), (rb, cb)) = (turned(ta, m, k), turned(tb, k, n));
        [
            (ra, ca, self.lds.0, self.buffer_lengths.0),
            (rb, cb, self.lds.1, self.buffer_lengths.1),
            (m, n, self.lds.2, self.buffer_lengths.2),
        ]
    }

    /// Whether the last element of each operand is inside its buffer, from the definition of the
    /// layout.
    fn is_valid(&self) -> bool {
        let (m, n, _) = self.sizes;
        self.operands().into_iter().all(|(rows, columns, ld, len)| {
            let last = (columns - 1) * ld + rows;
            let fits = rows == 0 || columns == 0 || last as usize <= len;
            ld >= rows.max(1) && (fits || m == 0 || n == 0)
        })
    }
}

fn arguments() -> impl Strategy<Value = Arguments> {
    let size = || (0i32..6, 0i32..6, 0i32..6);
    let length = || 1usize..40;
    (
        any::<(bool, bool)>(),
        size(),
        (0i32..8, 0i32..8, 0i32..8),
        (length(), length(), length()),
        prop::sample::select(vec![0.0f32, 2.0]),
    )
        .prop_map(|(transposed, sizes, lds, buffer_lengths, beta)| Arguments {
            transposed,
            sizes,
            lds,
            buffer_lengths,
            beta,
        })
}

fn value(index: usize) -> f32 {
    (index % 7) as f32 - 3.0
}

fn check(blas: &Blas, arguments: Arguments) {
    let Arguments { transposed, sizes: (m, n, k), lds: (lda, ldb, ldc), buffer_lengths, beta } =
        arguments;
    let fill = |len: usize| (0..len).map(value).collect::<Vec<f32>>();
    let (a, b, c) = (fill(buffer_lengths.0), fill(buffer_lengths.1), fill(buffer_lengths.2));
    let (da, db, dc) = (blas.put(&a), blas.put(&b), blas.put(&c));
    let operation = |turned: bool| {
        if turned { cublasOperation_t::CUBLAS_OP_T } else { cublasOperation_t::CUBLAS_OP_N }
    };
    let one = 1.0f32;
    // SAFETY: the library rejects invalid arguments.
    let status = unsafe {
        blas.sgemm(
            [operation(transposed.0), operation(transposed.1)],
            [m, n, k],
            [&raw const one, &raw const beta],
            [(blas.address(&da), lda), (blas.address(&db), ldb), (blas.address(&dc), ldc)],
        )
    };
    let right = arguments.is_valid();
    assert_eq!(status as u32, if right { 0 } else { 7 }, "{arguments:?}");
    let mut expected = c;
    if right {
        let at = |row: i32, column: i32, ld: i32| (column * ld + row) as usize;
        for column in 0..n {
            for row in 0..m {
                let sum: f32 = (0..k)
                    .map(|p| {
                        let left = if transposed.0 { at(p, row, lda) } else { at(row, p, lda) };
                        let right =
                            if transposed.1 { at(column, p, ldb) } else { at(p, column, ldb) };
                        a[left] * b[right]
                    })
                    .sum();
                let place = &mut expected[at(row, column, ldc)];
                *place = sum + beta * *place;
            }
        }
    }
    assert_eq!(blas.get(&dc), expected, "{arguments:?}");
}

#[test]
fn any_arguments() {
    let _messages = Messages::capture();
    let blas = Blas::new();
    proptest!(ProptestConfig::with_cases(2000), |(arguments in arguments())| {
        check(&blas, arguments);
    });
}
