//! cuBLAS on the emulated NVIDIA GPU: a shared library whose SONAME is `libcublas.so`.
//!
//! It exports NVIDIA's C functions for what this workspace and cudarc's safe layer call: handles and
//! their settings, `gemm` in single, double and half precision and for complex numbers, with types as
//! arguments, batched, strided and grouped, `symm`, `hemm`, `trmm` and `dgmm`, `gemv` and `asum`. What
//! else programs were seen to bind to is there and refuses. It stands on the emulated driver's public
//! API alone: the work is a host function on the handle's stream, so that it waits for what was queued
//! before and is captured into graphs, and operands are checked against the driver's allocations when
//! the function is called. On a driver that is not the emulated one it refuses to work.
//!
//! What the real library leaves to luck is an error here: `CUBLAS_STATUS_INVALID_VALUE`, and on
//! standard error a sentence that names the argument.
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

mod asum;
mod call;
mod dgmm;
mod ffi;
mod gemm;
mod gemv;
mod grouped;
mod handle;
mod level3;
mod logger;
mod operand;
mod settings;
mod structured;
mod typed;
mod unsupported;
mod vector;

c_abi::library_file!("libemulated_cublas.so");
