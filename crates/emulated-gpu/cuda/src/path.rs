//! The path of the shared library.

use std::path::PathBuf;

pub use host::library::NotFound;

/// The name of the file.
pub const FILE: &str = "libemulated_cuda.so";

/// The absolute path of the shared library that was built with the running program.
///
/// # Errors
/// When it is not beside it.
pub fn library_path() -> Result<PathBuf, NotFound> {
    host::library::beside_program(FILE)
}
