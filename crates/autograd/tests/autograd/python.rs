//! A test that launches the project's kernels from Python, if NVIDIA's bindings are installed.

use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

/// The variable `CUDA_BINDINGS_PYTHON` names the Python to use; the default is `python3`.
#[test]
fn a_layer_from_python_is_as_in_numpy() {
    let python = std::env::var_os("CUDA_BINDINGS_PYTHON").unwrap_or_else(|| "python3".into());
    let links = tempfile::tempdir().unwrap();
    let library = emulated_cuda::library_path().unwrap();
    for name in ["libcuda.so", "libcuda.so.1"] {
        symlink(&library, links.path().join(name)).unwrap();
    }
    let script =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../reference/kernels_from_python.py");
    let mut command = Command::new(&python);
    match command.arg(script).env("LD_LIBRARY_PATH", links.path()).output() {
        Err(error) => skipped::skip(format!("{}: {error}", python.display())),
        Ok(output) => {
            let text = String::from_utf8_lossy(&output.stdout);
            if output.status.code() == Some(77) {
                skipped::skip(text.trim().trim_start_matches("skipped: "));
                return;
            }
            let errors = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{text}{errors}");
            assert!(text.starts_with("on Emulated GPU"), "{text}");
            assert_eq!(text.matches("as in NumPy").count(), 4, "{text}");
        }
    }
}
