//! cuBLASLt on the emulated NVIDIA GPU: a shared library whose SONAME is `libcublasLt.so`.
//!
//! It exports NVIDIA's C functions for matrix products with epilogues: descriptors, layouts,
//! preferences, the heuristic, and `cublasLtMatmul` with bias, ReLU, GELU, their auxiliary outputs
//! and their gradients, in half, bfloat16, single, TF32 and double precision, in row and column
//! order, in strided batches. It only uses the emulated driver's public API: its work is a host
//! function on the stream, so that it runs in order with other work and can be captured into
//! graphs, and operands are checked against the driver's allocations when the function is called.
//! If the loaded driver is not the emulated one, every call fails.
//!
//! Calls that NVIDIA's library refuses fail with the same status; where its behaviour is undefined,
//! this library returns `CUBLAS_STATUS_INVALID_VALUE`. In both cases a message on standard error
//! names the argument.
//!
//! Rust code should only use [`library_path`], which finds the shared library next to the running
//! program. Using anything else would link a second copy of the library.

#![allow(unsafe_code, clippy::too_many_arguments, reason = "C functions with C's arguments")]
#![allow(unsafe_op_in_unsafe_fn, reason = "exported functions pass on their caller's promises")]

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
