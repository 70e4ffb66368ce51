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

pub(crate) mod array;
pub(crate) mod card;
pub(crate) mod context;
pub(crate) mod copy;
pub(crate) mod coredump;
pub(crate) mod device;
pub(crate) mod emulated_gpu;
pub(crate) mod event;
pub(crate) mod export_table;
pub(crate) mod fill;
pub(crate) mod function;
pub(crate) mod graph;
pub(crate) mod graph_any;
pub(crate) mod graph_attributes;
pub(crate) mod graph_child;
pub(crate) mod graph_edges;
pub(crate) mod graph_ids;
pub(crate) mod graph_memory;
pub(crate) mod graph_nodes;
pub(crate) mod green;
pub(crate) mod initialisation;
pub(crate) mod interprocess;
pub(crate) mod link;
pub(crate) mod memory;
pub(crate) mod mipmap;
pub(crate) mod module;
pub(crate) mod pointer;
pub(crate) mod pool;
pub(crate) mod proc_address;
pub(crate) mod stream;
pub(crate) mod texture;
pub(crate) mod texture_reference;
mod unsupported;
pub(crate) mod user_object;
pub(crate) mod virtual_memory;
