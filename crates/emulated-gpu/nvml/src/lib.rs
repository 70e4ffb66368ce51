//! NVML without NVIDIA: a shared library whose SONAME is `libnvidia-ml.so.1`, and which tells of the emulated
//! cards.
//!
//! It exports functions of NVML under the names that its headers of CUDA 12 and 13 give them. What it says of a
//! card it asks of the emulated driver, as it is loaded in the process or found on the library path; it has
//! no list of its own. As NVML on hardware it makes no context, and does not do what `cuInit` does, so
//! that a process may be forked after it.
//!
//! What the emulated card has not (sensors, clocks, power, links, settings) is `NVML_ERROR_NOT_SUPPORTED`,
//! as of a card without them. Functions about parts of a card and about virtual cards are not there.
//!
//! Nothing of this crate is to be used from Rust but [`library_path`]: what else is in it would be linked a
//! second time.

#![allow(unsafe_code, reason = "the functions are C's")]

mod api;
mod card;
mod driver;
mod ffi;
mod host;
mod out;
mod session;

c_abi::library_file!("libemulated_nvml.so");
