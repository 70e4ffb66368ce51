//! The exported functions.

mod array;
pub(crate) mod copy;
mod device;
mod error;
mod forward;
mod function;
mod graph;
mod graph_any;
mod launch;
mod memory;
mod properties;
mod register;
mod symbol;
mod texture;
mod unsupported;
