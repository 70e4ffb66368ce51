//! NVRTC without NVIDIA: a shared library whose SONAME is `libnvrtc.so`, and which compiles CUDA C to
//! PTX by the crate `cuda-c`.
//!
//! It exports the C functions of NVRTC that cudarc and NVIDIA's bindings for Python call: programs with
//! headers, name expressions and what they are called in PTX, options, the log. What `cuda-c` doesn't compile
//! is an error of compilation here, with its messages as the log.
//!
//! Two things are different. There is no machine code: what is compiled for a card (`sm_80`) is given as a
//! fatbin with the PTX, which drivers load in its place; the functions for LTO and OptiX refuse.
//! And options that allow less exact arithmetic (`--use_fast_math`, `--ftz`, `--prec-div`,
//! `--prec-sqrt`) are taken and change nothing.
//!
//! Where `EMULATED_GPU_NVRTC` names the file of NVIDIA's NVRTC, that compiles in place of `cuda-c`, with all of
//! C++, its own options, LTO and OptiX; the one thing that is different then is the fatbin in place of machine
//! code, so that programs that insist on a cubin run on the emulated driver.
//!
//! Nothing of this crate is to be used from Rust but [`library_path`]: what else is in it would be linked a
//! second time.

#![allow(unsafe_code, reason = "the functions are C's")]

mod api;
mod ffi;
mod nvidia;
mod options;
mod program;

c_abi::library_file!("libemulated_nvrtc.so");
