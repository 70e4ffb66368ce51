//! The library as C and NVIDIA's bindings call it; what it links is loaded and run by the emulated driver.

#![cfg(target_os = "linux")]
#![allow(unsafe_code, reason = "the functions are C")]

mod links;
mod names;
mod nvidias;
mod support;
