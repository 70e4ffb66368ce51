//! What the emulated CUDA libraries share at their C ABI.
//!
//! - [`export!`] declares exported functions, whose bodies return a `Result`; [`guard`] keeps panics inside.
//! - [`Out`], [`In`] and [`Text`] are the caller's pointers, as types of arguments.
//! - [`Registry`] keeps objects by handles that are looked up and never followed.
//! - [`statuses!`] declares a status enum with its numbers and texts.
//! - [`Code`] is one of the error codes that the CUDA driver and runtime share, and [`CudaError`] an error with one;
//!   [`fail_if!`] returns one.
//! - [`Copy3d`] and [`TextureDescription`] are structures of the driver's that the runtime makes.
//! - [`driver_functions!`] declares functions of the emulated driver, which is found when one is first called.
//! - [`nvidia_functions!`] declares functions of NVIDIA's own library, where the environment names its file.
//! - [`library_file!`] says where the shared library is built to, and [`report`] writes to standard error.
//!
//! A library makes its own error of what this crate finds wrong, by `From<`[`Fault`]`>`.

#![allow(unsafe_code, reason = "pointers and functions are C's")]

mod cuda_error;
mod cuda_structures;
mod driver;
mod export;
mod nvidia;
mod pointer;
mod registry;
mod status;

pub use cuda_error::{Code, Error as CudaError};
pub use cuda_structures::{Copy3d, Side3d, TextureDescription};
pub use driver::{DriverError, Function, driver_library};
pub use export::{guard, report};
pub use host::library::{NotFound, beside_program};
#[doc(hidden)]
pub use libloading::os::unix::Library;
pub use nvidia::{Object, Part, load_named};
pub use pointer::{In, Out, Text};
pub use registry::Registry;

/// What this crate finds wrong with a call.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// A pointer is null; of what.
    #[error("{0} is null")]
    Null(&'static str),
    /// The body of an exported function panicked.
    #[error("an internal error, which is a fault of this library")]
    Panic,
    /// There is no CUDA driver; why.
    #[error(
        "no CUDA driver is loaded, and none is found: {0}; crates/emulated-gpu/emulate puts the emulated one on \
         the library path"
    )]
    NoDriver(String),
    /// The CUDA driver is not the emulated one.
    #[error(
        "the CUDA driver that is loaded is not the emulated one, which this library needs: with a real GPU, load \
         NVIDIA's library"
    )]
    RealDriver,
    /// The emulated driver lacks a function.
    #[error("the emulated driver has no {0}")]
    MissingFunction(&'static str),
}
