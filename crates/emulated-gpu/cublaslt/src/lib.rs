//! cuBLASLt on the emulated NVIDIA GPU: a shared library whose SONAME is `libcublasLt.so`.
//!
//! It exports NVIDIA's C functions for matrix products with epilogues: descriptors, layouts,
//! preferences, the heuristic, and `cublasLtMatmul` with bias, ReLU, GELU, their auxiliary outputs
//! and their gradients, in half, bfloat16, single, TF32 and double precision, in row and column
//! order, in strided batches. It stands on the emulated driver's public API alone: the work is a
//! host function on the stream, so that it waits for what was queued before and is captured into
//! graphs, and operands are checked against the driver's allocations when the function is called.
//! On a driver that is not the emulated one it refuses to work.
//!
//! What NVIDIA's library refuses is refused with its status, and what it leaves to luck with
//! `CUBLAS_STATUS_INVALID_VALUE`; either way a sentence on standard error names the argument.
//!
//! Nothing of this crate is to be used from Rust but [`library_path`], which finds the shared
//! library beside the running program: what else is in it would be linked a second time.

#![allow(
    unsafe_code,
    clippy::too_many_arguments,
    reason = "the functions are C's, with C's arguments"
)]
#![allow(
    unsafe_op_in_unsafe_fn,
    reason = "an exported function hands on what the program vouches for, and does nothing else"
)]

mod algorithm;
mod alignment;
mod attribute;
mod descriptor;
mod epilogue;
mod ffi;
mod finish;
mod handle;
mod heuristic;
mod layout;
mod logger;
mod matmul;
mod operands;
mod preference;
mod problem;

c_abi::library_file!("libemulated_cublaslt.so");
