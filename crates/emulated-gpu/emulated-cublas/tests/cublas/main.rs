//! The library through its C functions, as unmodified cudarc calls them, on the emulated driver.

#![allow(unsafe_code, reason = "the functions are C")]

mod arguments;
mod complex;
mod dgmm;
mod functions;
mod graphs;
mod grouped;
mod half;
mod mapped;
mod modes;
mod refusals;
mod settings;
mod structured;
mod support;
mod threads;
mod vectors;
