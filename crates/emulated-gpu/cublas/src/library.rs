//! Where the shared library is.

use std::path::PathBuf;

use emulated_blas::{NotFound, library_beside_program};

/// The name of the file.
pub const FILE: &str = "libemulated_cublas.so";

/// The absolute path of the shared library that was built with the running program.
///
/// # Errors
/// When it is not beside it.
pub fn library_path() -> Result<PathBuf, NotFound> {
    library_beside_program(FILE)
}
