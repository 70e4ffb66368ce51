//! The CUDA runtime on the emulated driver: a shared library with the SONAME `libcudart.so`, for programs that nvcc
//! built with `-cudart shared`.
//!
//! Nearly every function of the runtime makes the device's primary context current and calls a driver function; a
//! table lists them (`api`, `forward`). The runtime adds the code and variables that a program registers before its
//! `main` (`registry`), the current device of each thread (`context`), the last error of each thread (`ffi`), copy
//! directions, and its own structures (`abi`).
//!
//! Only the driver's public C functions are used, from a loaded `libcuda.so` or one on the library path. A driver
//! that is not emulated is rejected.
//!
//! If CUDA 12 and CUDA 13 declare a function with different arguments under one name, this library has CUDA 13's
//! version. The crate's `README.md` lists these functions.
//!
//! Unless stated otherwise, an `unsafe` function here requires that the program's addresses are valid for the driver
//! function that it calls.
//!
//! Rust code should use only [`library_path`].

#![allow(unsafe_code, clippy::too_many_arguments, reason = "C functions with C's arguments")]
#![allow(unsafe_op_in_unsafe_fn, reason = "exported functions pass on their caller's promises")]

mod abi;
mod api;
mod channels;
mod context;
mod driver;
mod ffi;
mod registry;

c_abi::library_file!("libemulated_cudart.so");
