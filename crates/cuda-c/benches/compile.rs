//! How long the project's kernels take to compile: `cargo bench -p cuda-c`.

use std::path::{Path, PathBuf};

use cuda_c::{Options, compile};

fn main() {
    divan::main();
}

/// The files of `kernels`, the largest first.
fn files() -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kernels");
    let mut paths: Vec<PathBuf> = std::fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|end| end == "cu"))
        .collect();
    paths.sort_by_key(|path| std::cmp::Reverse(path.metadata().map_or(0, |known| known.len())));
    let name = |path: PathBuf| path.file_stem().map(|name| name.to_string_lossy().into_owned());
    paths.into_iter().filter_map(name).collect()
}

#[divan::bench(args = files())]
fn kernel(bencher: divan::Bencher<'_, '_>, name: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../kernels/{name}.cu"));
    let source = std::fs::read_to_string(&path).unwrap_or_default();
    bencher.bench(|| compile(&source, &Options::default()).is_ok());
}
