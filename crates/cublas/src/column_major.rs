//! The description of row-major matrices to a column-major library.
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
//! So our `a` is the library's `aᵀ`. No copy or transposition is needed; we request a different product. For
//! `c` to be row-major in memory, the library has to write its `cᵀ`. Our three products become
//!
//! ```text
//! c = a · b         cᵀ = bᵀ · aᵀ
//! c = a · bᵀ        cᵀ = b  · aᵀ
//! c = aᵀ · b        cᵀ = bᵀ · a
//! ```
//!
//! This gives three rules:
//!
//! 1. The operands change places: `b` comes first, and `m` and `n` change places, too.
//! 2. The library already sees `bᵀ` and `aᵀ`. So it has to transpose an operand exactly if our product
//!    transposes it.
//! 3. The leading dimension, the distance from one column to the next, is the length of our row.
//!
//! A column of the library's result is a row of ours. So an epilogue that adds a bias to each column adds it
//! to each sample, and a mask has a column for each sample.

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
pub type ProductShape = [usize; 3];

/// The description of an operand for the library.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operand {
    /// Whether the library transposes the operand.
    pub transposed: bool,
    /// The operand's rows in the library's view, before transposing.
    pub rows: usize,
    /// The operand's columns in the library's view, before transposing.
    pub columns: usize,
    /// Elements from the beginning of a column to the beginning of the next.
    pub ld: usize,
}

/// The description of a product for the library.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ColumnMajor {
    /// The library's first operand, which is our `b`.
    pub first: Operand,
    /// The library's second operand, which is our `a`.
    pub second: Operand,
    /// The library's result, which is our `cᵀ`. `transposed` is always false.
    pub result: Operand,
    /// The number of terms in each sum of the product.
    pub k: usize,
}

// ANCHOR: column-major
/// Describes a product of row-major matrices to a column-major library.
#[must_use]
pub const fn column_major(matmul: Matmul, [m, n, k]: ProductShape) -> ColumnMajor {
    let (first, second) = match matmul {
        Matmul::ABt => (read_as(true, n, k), read_as(false, m, k)),
        Matmul::AtB => (read_as(false, k, n), read_as(true, k, m)),
        Matmul::AB => (read_as(false, k, n), read_as(false, m, k)),
    };
    ColumnMajor { first, second, result: read_as(false, m, n), k }
}

/// The library's view of our `[rows, columns]`.
const fn read_as(transposed: bool, rows: usize, columns: usize) -> Operand {
    Operand { transposed, rows: columns, columns: rows, ld: columns }
}
// ANCHOR_END: column-major
