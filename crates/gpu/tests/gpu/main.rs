//! The tests of the crate gpu.

mod kernels;
mod open;
