//! Access to the memory of emulated devices: reads, writes, copies and fills of memory that
//! kernels, copies and libraries on other threads may access at the same time.
//!
//! All accesses go through [`words`]. A plain access (`*pointer`, a slice over it, `ptr::copy`)
//! would be a data race, and so undefined behaviour, as soon as an emulated program forgets to
//! synchronise.

pub mod rows;
pub mod words;
