//! The host side of a GPU.

mod kernels;
mod open;
