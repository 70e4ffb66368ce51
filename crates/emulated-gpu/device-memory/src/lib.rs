//! Access to the memory of emulated devices: reads, writes, copies and fills of memory that kernels, copies and
//! libraries on other threads may be accessing at the same time.
//!
//! [`words`] is the only way to reach that memory. A plain access (`*pointer`, a slice over it, `ptr::copy`)
//! would be a data race, and undefined, as soon as a program forgets to synchronise.

pub mod rows;
pub mod words;
