//! The driver through NVIDIA's Python bindings, if they are installed.

use std::path::Path;
use std::process::Command;

#[cfg(target_os = "linux")]
#[test]
fn nvidias_python_bindings_work() {
    // The Python interpreter to use; the default is `python3`.
    let python = std::env::var_os("CUDA_BINDINGS_PYTHON").unwrap_or_else(|| "python3".into());
    let library = emulated_cuda::library_path().unwrap();
    let links = Path::new(env!("CARGO_TARGET_TMPDIR")).join("python-links");
    std::fs::create_dir_all(&links).unwrap();
    for name in ["libcuda.so", "libcuda.so.1"] {
        let link = links.join(name);
        let _ = std::fs::remove_file(&link);
        std::os::unix::fs::symlink(&library, link).unwrap();
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/python/cuda_bindings.py");
    let output = match Command::new(&python).arg(script).env("LD_LIBRARY_PATH", links).output() {
        Ok(output) => output,
        Err(error) => {
            skipped::skip(format!("{}: {error}", python.display()));
            return;
        }
    };
    let text = String::from_utf8_lossy(&output.stdout);
    if output.status.code() == Some(77) {
        skipped::skip(text.trim().trim_start_matches("skipped: "));
        return;
    }
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
}
