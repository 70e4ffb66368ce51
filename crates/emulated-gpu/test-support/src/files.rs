//! A temporary folder of this process, in memory if the system has such a place.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use tempfile::TempDir;

/// Returns the folder.
pub fn folder() -> &'static Path {
    static FOLDER: OnceLock<TempDir> = OnceLock::new();
    let make = || {
        let memory = Path::new("/dev/shm");
        let place = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
        tempfile::Builder::new().prefix("fuzz-").tempdir_in(place).expect("a folder to write to")
    };
    FOLDER.get_or_init(make).path()
}

/// Writes a file into [`folder`], and returns its path.
pub fn file(name: &str, bytes: &[u8]) -> PathBuf {
    let path = folder().join(name);
    fs::write(&path, bytes).expect("the folder can be written to");
    path
}
