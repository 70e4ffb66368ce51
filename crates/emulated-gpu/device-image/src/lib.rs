//! Images: what a compiler or a linker of the emulated GPU hands to the driver in place of machine code,
//! and what nvcc packs. All of them are PTX in the end.
//!
//! [`fatbin`] reads and writes the containers; [`linked`] is what there is to know of an image that a
//! linker has made, and [`archive`] the one library of device functions that can be linked.

pub mod archive;
pub mod fatbin;
pub mod linked;
