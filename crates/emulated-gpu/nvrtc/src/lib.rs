//! An emulated NVRTC: a shared library with the SONAME `libnvrtc.so` that compiles CUDA C to PTX
//! with the crate `cuda-c`.
//!
//! It exports the C functions of NVRTC that cudarc and NVIDIA's Python bindings call: programs with
//! headers, name expressions and their mangled names, options, and the log. If `cuda-c` can't
//! compile a source, the result is a compilation error, with the messages of `cuda-c` as the log.
//!
//! Two things differ from NVIDIA's library. There is no machine code: for a real architecture
//! (`sm_80`) the image is a fatbin with the PTX, which drivers accept in place of a cubin, and the
//! functions for LTO and OptiX are refused. And options that allow less exact arithmetic
//! (`--use_fast_math`, `--ftz`, `--prec-div`, `--prec-sqrt`) are accepted and ignored.
//!
//! If `EMULATED_GPU_NVRTC` names the file of NVIDIA's NVRTC, that library compiles instead of
//! `cuda-c`, with all of C++, its own options, LTO and OptiX. The only difference is then the
//! fatbin in place of machine code, so that programs that insist on a cubin run on the emulated
//! driver.
//!
//! Rust code should only use [`library_path`]: using anything else would link a second copy of this
//! crate into the program.

#![allow(unsafe_code, reason = "the functions are C's")]

mod api;
mod ffi;
mod nvidia;
mod options;
mod program;

c_abi::library_file!("libemulated_nvrtc.so");
