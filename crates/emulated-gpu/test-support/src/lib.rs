//! Helpers for the tests and fuzz targets of the emulated GPU and of the crates that use its libraries.

pub mod calls;
pub mod child;
pub mod corpus;
pub mod device;
pub mod diagnostics;
pub mod files;
pub mod kernel;
pub mod layers;
pub mod nvrtc;
pub mod ptx;
pub mod random;
pub mod record;
pub mod reference;
pub mod words;
