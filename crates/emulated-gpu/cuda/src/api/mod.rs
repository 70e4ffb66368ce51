//! The exported functions, by the groups of the CUDA Driver API's documentation.

#![allow(
    unsafe_code,
    reason = "functions of a C ABI: whoever calls one vouches for the pointers that he passes"
)]
#![allow(
    unsafe_op_in_unsafe_fn,
    reason = "what the caller of an exported function vouches for holds for all of its body, and for the \
              functions that it hands the pointers on to"
)]
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
pub(crate) mod legacy_streams;
pub(crate) mod memory;
pub(crate) mod module;
pub(crate) mod proc_address;
pub(crate) mod stream;
pub(crate) mod texture;
mod unsupported;
