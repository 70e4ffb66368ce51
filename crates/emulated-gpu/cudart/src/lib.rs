//! The CUDA runtime on the emulated driver: a shared library whose SONAME is `libcudart.so`, for
//! programs that nvcc built with `-cudart shared`.
//!
//! Nearly every function of the runtime is one of the driver's, with the device's primary context made
//! current before; those are a table (`api`, `forward`). What the runtime adds is here: the code and
//! the variables that a program registers before its `main` (`registry`), the device of each thread
//! (`context`), the error that a thread asks for later (`ffi`), the directions of copies, and the
//! runtime's own structures (`abi`).
//!
//! The driver is reached through its public C functions alone, in whatever `libcuda.so` is loaded or
//! on the library path; one that isn't emulated is refused.
//!
//! Functions whose arguments are others in CUDA 12 than in CUDA 13, under one name, are CUDA 13's: the
//! crate's `README.md` lists them.
//!
//! Nothing of this crate is to be used from Rust but [`library_path`].

#![allow(
    unsafe_code,
    clippy::too_many_arguments,
    reason = "the functions are C's, with C's arguments, and so are the driver's"
)]
#![allow(
    unsafe_op_in_unsafe_fn,
    reason = "an unsafe function here hands on what the program vouches for, and does nothing else"
)]

mod abi;
mod api;
mod channels;
mod context;
mod driver;
mod ffi;
mod registry;

c_abi::library_file!("libemulated_cudart.so");
