//! NVML for the emulated cards: a shared library with the SONAME `libnvidia-ml.so.1`.
//!
//! It exports NVML functions under the names in the headers of CUDA 12 and 13. All information about the cards comes
//! from the emulated driver that is loaded in the process or on the library path. Like NVML on hardware, it creates
//! no context and does not initialise CUDA, so that a process can fork afterwards.
//!
//! Functions for features that the emulated card lacks (sensors, clocks, power, links, settings) return
//! `NVML_ERROR_NOT_SUPPORTED`, as for a real card without them. Functions for MIG partitions and virtual GPUs are
//! missing.
//!
//! Rust code should use only [`library_path`]; anything else would link a second copy of the library's state.

#![allow(unsafe_code, reason = "the exported functions have C signatures")]

mod api;
mod card;
mod driver;
mod ffi;
mod host;
mod out;
mod session;

c_abi::library_file!("libemulated_nvml.so");
