//! Products of row-major matrices by cuBLAS and cuBLASLt: planned once, and run often.
//!
//! [`Blas`] plans and runs products on buffers, and checks their sizes. [`column_major`] describes row-major
//! matrices to a [`library`] that reads them column by column. [`epilogue`] lists the operations that cuBLASLt
//! can add to a product.
//!
//! | module | contents |
//! |---|---|
//! | `blas` | [`Blas`], and the planned [`Product`] |
//! | `cublas` | [`Cublas`]: one call, `cublasSgemm` |
//! | `cublaslt` | [`CublasLt`]: descriptors, layouts, and the heuristic's algorithm |
//! | `autotune` | the measurement of several algorithms (`--autotune`) |

mod autotune;
mod blas;
pub mod column_major;
mod cublas;
mod cublaslt;
pub mod epilogue;
pub mod library;

pub use blas::{ALLOCATION_ALIGNMENT, Blas, Product};
pub use cublas::Cublas;
pub use cublaslt::CublasLt;
