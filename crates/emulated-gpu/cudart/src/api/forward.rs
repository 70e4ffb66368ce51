//! Functions that only forward to a driver function of the same signature.

mod graph;
mod interprocess;
mod memory;
mod stream;
