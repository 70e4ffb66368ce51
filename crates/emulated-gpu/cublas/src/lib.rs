//! cuBLAS on the emulated NVIDIA GPU: a shared library whose SONAME is `libcublas.so`.
//!
//! It exports the C functions of NVIDIA's library that this workspace and cudarc's safe layer call:
//! handles and their settings; `gemm` in single, double and half precision and for complex numbers,
//! also with types as arguments, batched, strided and grouped; `symm`, `hemm`, `trmm`, `dgmm`,
//! `gemv` and `asum`. Other functions that programs were seen to link to are exported, but always
//! return an error. The library only uses the emulated driver's public API: its work is a host
//! function on the handle's stream, so that it runs in order with other work and can be captured
//! into graphs, and operands are checked against the driver's allocations when the function is
//! called. If the loaded driver is not the emulated one, every call fails.
//!
//! Where the real library's behaviour is undefined, this one returns `CUBLAS_STATUS_INVALID_VALUE`
//! and prints a message on standard error that names the argument.
//!
//! Rust code should only use [`library_path`], which finds the shared library next to the running
//! program. Using anything else would link a second copy of the library.

#![allow(unsafe_code, clippy::too_many_arguments, reason = "C functions with C's arguments")]
#![allow(unsafe_op_in_unsafe_fn, reason = "exported functions pass on their caller's promises")]

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
