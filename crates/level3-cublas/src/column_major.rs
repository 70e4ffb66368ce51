//! Row-major matrices in a library that reads them column by column: derived here, once.
//!
//! cuBLAS comes from Fortran. The same six numbers in memory are two different matrices:
//!
//! ```text
//! in memory              1 2 3 4 5 6
//!
//! row-major [2, 3]       1 2 3          as cuBLAS reads it      1 4
//!                        4 5 6          3 x 2, a column         2 5
//!                                       every 3 numbers         3 6
//! ```
//!
//! What we call `a`, the library calls `aᵀ`. Nothing has to be copied or turned round for that; it
//! is asked for another product. We want `c` in memory as rows, so it has to write what it calls
//! `cᵀ`, and of each of our products
//!
//! ```text
//! c = a · b         cᵀ = bᵀ · aᵀ
//! c = a · bᵀ        cᵀ = b  · aᵀ
//! c = aᵀ · b        cᵀ = bᵀ · a
//! ```
//!
//! Three rules follow, and they are all there is:
//!
//! 1. The operands change places: `b` comes first. With them `m` and `n` change places.
//! 2. The library sees `bᵀ` and `aᵀ` already. So an operand is to be transposed exactly where we
//!    transpose it ourselves.
//! 3. The leading dimension, from one column to the next, is the length of our row.
//!
//! What belongs to a column of the library's result belongs to a row of ours: a bias is added to
//! each sample, and a mask has a column for each sample.

/// A product of row-major matrices; `c` is `[m, n]` and sums run over `k`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Matmul {
    /// `c = a · bᵀ`, where `a` is `[m, k]` and `b` is `[n, k]`.
    ABt,
    /// `c = aᵀ · b`, where `a` is `[k, m]` and `b` is `[k, n]`.
    AtB,
    /// `c = a · b`, where `a` is `[m, k]` and `b` is `[k, n]`.
    AB,
}

/// `m`, `n` and `k` of a product of row-major matrices.
pub type Shape = [usize; 3];

/// One operand as the library is told of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operand {
    /// Whether the library transposes it.
    pub transposed: bool,
    /// Rows as the library reads it, before it transposes.
    pub rows: usize,
    /// Columns likewise.
    pub columns: usize,
    /// Elements from the beginning of a column to the beginning of the next.
    pub ld: usize,
}

/// A product as the library is told of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ColumnMajor {
    /// Its first operand, which is our `b`.
    pub first: Operand,
    /// Its second operand, which is our `a`.
    pub second: Operand,
    /// Its result, `cᵀ`, never transposed.
    pub result: Operand,
    /// The length of its sums.
    pub k: usize,
}

// ANCHOR: column-major
/// The product for a column-major library.
#[must_use]
pub const fn column_major(matmul: Matmul, [m, n, k]: Shape) -> ColumnMajor {
    let (first, second) = match matmul {
        Matmul::ABt => (read_as(true, n, k), read_as(false, m, k)),
        Matmul::AtB => (read_as(false, k, n), read_as(true, k, m)),
        Matmul::AB => (read_as(false, k, n), read_as(false, m, k)),
    };
    ColumnMajor { first, second, result: read_as(false, m, n), k }
}

/// Our `[rows, columns]`, as the library reads it.
const fn read_as(transposed: bool, rows: usize, columns: usize) -> Operand {
    Operand { transposed, rows: columns, columns: rows, ld: columns }
}
// ANCHOR_END: column-major
