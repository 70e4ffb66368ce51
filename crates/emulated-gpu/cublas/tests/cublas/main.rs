//! The library's C functions, called through unmodified cudarc on the emulated driver.

#![allow(unsafe_code, reason = "the functions are C")]

mod arguments;
mod dgmm;
mod gemm;
mod graphs;
mod grouped;
mod half;
mod mapped;
mod modes;
mod numbers;
mod refusals;
mod sanitizer;
mod settings;
mod structured;
mod support;
mod threads;
mod typed;
mod vectors;
