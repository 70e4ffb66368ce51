//! An emulated nvJitLink: a shared library with the SONAME `libnvJitLink.so.12` that links PTX with
//! the linker of the emulated driver.
//!
//! It exports the C functions of nvJitLink under the names in its header, for versions 12.0 to
//! 13.5, and under the names that NVIDIA's Python bindings look up.
//!
//! The inputs are PTX, as text or in a fatbin, plain or compressed. The output, the linked cubin,
//! is a fatbin with PTX, which the driver loads. A fatbin with PTX is also accepted as a cubin or
//! as LTO-IR, because the emulated NVRTC returns one in place of either. Machine code (cubins,
//! objects and libraries other than `libcudadevrt.a`, whose functions the emulator has) and
//! NVIDIA's LTO-IR are refused; the log says what to pass instead.
//!
//! The reported version, 12.2, is the last version for which numba-cuda doesn't compile all kernels
//! to LTO-IR by default. If `EMULATED_GPU_NVJITLINK` names the file of NVIDIA's nvJitLink, that
//! library compiles LTO-IR to PTX, and the version is NVIDIA's.
//!
//! Rust code should only use [`library_path`]: using anything else would link a second copy of this
//! crate into the program.

#![allow(unsafe_code, reason = "the functions are C's")]

mod api;
mod input;
mod link;
mod nvidia;
mod options;
mod status;

c_abi::library_file!("libemulated_nvjitlink.so");
