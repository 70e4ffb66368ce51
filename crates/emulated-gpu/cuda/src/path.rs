//! The path of the driver's shared library.

use std::path::PathBuf;

pub use host::library::NotFound;

/// The file name of the shared library.
pub const FILE: &str = "libemulated_cuda.so";

/// The absolute path of the shared library that was built with the running program.
///
/// # Errors
/// If it is not next to the program.
pub fn library_path() -> Result<PathBuf, NotFound> {
    host::library::beside_program(FILE)
}
