//! CUDA's runtime, by its functions and under programs that nvcc built.
#![allow(unsafe_code, reason = "the functions are C")]

mod addresses;
mod graphs;
// nvcc's programs have no sanitizer's runtime, without which the sanitized libraries can't be loaded.
#[cfg(not(sanitized))]
mod nvcc;
mod nvidias;
mod runtime;
mod support;
mod textures;
