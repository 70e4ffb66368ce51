//! C ABI support shared by the emulated CUDA libraries.
//!
//! - [`export!`] declares exported functions, whose bodies return a `Result`; [`guard`] catches panics.
//! - [`Out`], [`In`] and [`Text`] are argument types for the caller's pointers.
//! - [`Registry`] maps handles to objects. Handles are looked up and never dereferenced.
//! - [`c_enum!`] declares an enum of a C header with numbers and texts.
//! - [`Code`] is an error code of the CUDA driver and runtime, and [`CudaError`] an error with a code; [`fail_if!`]
//!   returns one.
//! - [`Copy3d`] and [`TextureDescription`] are driver structures that the runtime fills in.
//! - [`driver_functions!`] declares functions of the emulated driver, which is loaded on the first call.
//! - [`nvidia_functions!`] declares functions of NVIDIA's library, whose file an environment variable names.
//! - [`library_file!`] defines the path of the shared library, and [`report`] prints a message on standard error.
//!
//! Each library converts this crate's [`Fault`]s to its own errors with `From`.

#![allow(unsafe_code, reason = "the crate handles C pointers and functions")]

mod c_enum;
mod cuda_error;
mod cuda_structures;
mod driver;
mod export;
mod nvidia;
mod pointer;
mod registry;

pub use cuda_error::{Code, Error as CudaError};
pub use cuda_structures::{Copy3d, Side3d, TextureDescription};
pub use driver::{DriverError, Function, driver_library};
pub use export::{guard, report};
pub use host::library::{NotFound, beside_program};
#[doc(hidden)]
pub use libloading::os::unix::Library;
pub use nvidia::{NvidiaObject, SizeAndCopy, load_named};
pub use pointer::{In, Out, Text};
pub use registry::Registry;

/// A failure that this crate detects in a call.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// A pointer is null; the text names the argument.
    #[error("{0} is null")]
    Null(&'static str),
    /// The body of an exported function panicked.
    #[error("internal error: this is a bug in this library")]
    Panic,
    /// No CUDA driver was found; the text is the reason.
    #[error(
        "no CUDA driver is loaded or on the library path: {0}; run the program with \
         crates/emulated-gpu/emulate, which adds the emulated one"
    )]
    NoDriver(String),
    /// The CUDA driver is not the emulated one.
    #[error(
        "the loaded CUDA driver is not the emulated one, which this library needs; on a real GPU, load NVIDIA's \
         library instead"
    )]
    RealDriver,
    /// The emulated driver lacks a function.
    #[error("the emulated driver has no {0}")]
    MissingFunction(&'static str),
}
