//! Device images: the files that the emulated compilers and linkers, and nvcc, pass to the driver.
//! Instead of machine code, they all contain PTX.
//!
//! [`fatbin`] reads and writes fatbin containers, [`linked`] the properties of an image that a
//! linker made, and [`archive`] recognises the one library of device functions that can be linked.

pub mod archive;
pub mod fatbin;
pub mod linked;
