//! Tests of the crate gpu: opening a device, and its kernels.

mod kernels;
mod open;
