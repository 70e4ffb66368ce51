//! A copy of the kernels, with a planted fault in one of them.

use std::fs;
use std::path::Path;

use tempfile::TempDir;

/// Copies the folder `kernels`, and edits one kernel and its PTX in the same way.
#[must_use]
pub fn with_a_fault(kernel: &str, source: [&str; 2], ptx: [&str; 2]) -> TempDir {
    let folder = TempDir::new().unwrap();
    let kernels = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kernels");
    for entry in fs::read_dir(kernels).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() {
            fs::copy(&path, folder.path().join(path.file_name().unwrap())).unwrap();
        }
    }
    let edit = |extension: &str, [from, to]: [&str; 2]| {
        let path = folder.path().join(format!("{kernel}.{extension}"));
        let before = fs::read_to_string(&path).unwrap();
        assert!(before.contains(from), "{kernel}.{extension} has no {from:?}");
        let after = before.replacen(from, to, 1);
        fs::write(path, &after).unwrap();
        (gpu::source::digest(&before), gpu::source::digest(&after))
    };
    let (old, new) = edit("cu", source);
    edit("ptx", ptx);
    edit("ptx", [&old, &new]);
    folder
}
