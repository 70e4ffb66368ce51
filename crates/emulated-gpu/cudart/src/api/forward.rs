//! Functions that are the driver's own.

mod graph;
mod interprocess;
mod memory;
mod stream;
