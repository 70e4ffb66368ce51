//! Tests of CUDA's runtime: its functions, and programs built by nvcc.
#![allow(unsafe_code, reason = "the runtime is called through C functions")]

mod addresses;
mod graphs;
// Left out under a sanitizer: nvcc links programs without the sanitizer's runtime, which the
// sanitized libraries need.
#[cfg(not(sanitized))]
mod nvcc;
mod nvidia_library;
mod runtime;
mod support;
mod textures;
