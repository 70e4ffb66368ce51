//! The exported functions, grouped as in the CUDA Driver API's documentation.

#![allow(unsafe_code, reason = "a C ABI: the caller promises that the pointers are valid")]
#![allow(unsafe_op_in_unsafe_fn, reason = "exported functions pass on their caller's promises")]
#![allow(non_snake_case, reason = "the names are CUDA's")]
#![allow(clippy::too_many_arguments, reason = "the arguments are CUDA's")]

pub(crate) mod calling_thread;
pub(crate) mod context;
pub(crate) mod device;
pub(crate) mod driver;
pub(crate) mod emulated_gpu;
pub(crate) mod event;
pub(crate) mod execution;
pub(crate) mod exit_report;
pub(crate) mod export_table;
pub(crate) mod graph;
pub(crate) mod green_context;
pub(crate) mod initialisation;
pub(crate) mod interprocess;
pub(crate) mod legacy_launch;
pub(crate) mod legacy_streams;
pub(crate) mod memory;
pub(crate) mod module;
pub(crate) mod proc_address;
pub(crate) mod stream;
pub(crate) mod texture;
mod unsupported;
