//! The library as called by C and by NVIDIA's bindings; the emulated driver loads and runs the
//! results.

#![cfg(target_os = "linux")]
#![allow(unsafe_code, reason = "the functions are C")]

mod links;
mod names;
mod nvidias;
mod support;
