//! Functions that are the driver's own.

mod graph;
mod memory;
mod stream;
