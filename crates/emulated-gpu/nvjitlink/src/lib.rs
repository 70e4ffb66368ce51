//! nvJitLink without NVIDIA: a shared library whose SONAME is `libnvJitLink.so.12`, and which links PTX as
//! the emulated driver does.
//!
//! It exports the C functions of nvJitLink under the names that its header gives them, of versions 12.0 to
//! 13.5, and under those that NVIDIA's bindings for Python look up.
//!
//! What goes in is PTX, alone or in a fatbin, plain or compressed; what comes out as the linked cubin is a
//! fatbin with PTX, which the driver loads. A fatbin with PTX also is taken for a cubin and for LTO-IR, since
//! it is what the emulated NVRTC gives in place of either. Machine code (cubins, objects and libraries, but
//! for `libcudadevrt.a`, which the emulator has functions for) and NVIDIA's LTO-IR are refused, with what to ask
//! for instead in the log.
//!
//! Its version, 12.2, is the last one before numba-cuda compiles all kernels to LTO-IR by itself. Where
//! `EMULATED_GPU_NVJITLINK` names the file of NVIDIA's nvJitLink, LTO-IR becomes PTX by it, and the version is
//! NVIDIA's.
//!
//! Nothing of this crate is to be used from Rust but [`library_path`]: what else is in it would be linked a
//! second time.

#![allow(unsafe_code, reason = "the functions are C's")]

mod api;
mod input;
mod link;
mod nvidia;
mod options;
mod status;

c_abi::library_file!("libemulated_nvjitlink.so");
