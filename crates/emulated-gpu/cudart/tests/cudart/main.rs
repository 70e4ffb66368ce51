//! CUDA's runtime, by its functions and under programs that nvcc built.
#![allow(unsafe_code, reason = "the functions are C")]

mod addresses;
mod graphs;
mod nvcc;
mod nvidias;
mod runtime;
mod support;
mod textures;
