//! Benchmark of the compilation of the project's kernels: `cargo bench -p gpu`.

use std::path::{Path, PathBuf};

use cuda_c::{CompileOptions, compile};

fn main() {
    divan::main();
}

/// The CUDA C files in `kernels` and its subfolders, the largest first.
fn files() -> Vec<String> {
    let mut found: Vec<(u64, String)> = Vec::new();
    for folder in ["", "products/", "autograd/"] {
        let entries = std::fs::read_dir(root().join(folder)).into_iter().flatten().flatten();
        for path in entries.map(|entry| entry.path()) {
            if let (Some(name), Some("cu")) =
                (path.file_stem(), path.extension().and_then(|end| end.to_str()))
            {
                let size = path.metadata().map_or(0, |known| known.len());
                found.push((size, format!("{folder}{}", name.to_string_lossy())));
            }
        }
    }
    found.sort_by(|a, b| b.cmp(a));
    found.into_iter().map(|(_, name)| name).collect()
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kernels")
}

#[divan::bench(args = files())]
fn kernel(bencher: divan::Bencher<'_, '_>, name: &str) {
    let path = root().join(format!("{name}.cu"));
    let source = std::fs::read_to_string(&path).unwrap_or_default();
    bencher.bench(|| compile(&source, &CompileOptions::default()).is_ok());
}
