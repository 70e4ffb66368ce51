//! CUDA's runtime, by its functions and under programs that nvcc built.

mod nvcc;
mod runtime;
mod support;
