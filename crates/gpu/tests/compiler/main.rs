//! Tests of every kernel in CUDA C of this repository, compiled by cuda-c and by NVRTC, on the emulator.

mod kernels;

use std::path::{Path, PathBuf};

use emulated_gpu_test_support::kernel::{
    Argument, compile, drawn, float, floats, load, word, words,
};
use emulated_gpu_test_support::reference::both;

type Shape = ([u32; 3], [u32; 3], u32);

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn text(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Compares the book's kernels on the arguments with which the book launches them.
#[test]
fn the_kernels_of_the_book() {
    let line: Shape = ([2, 1, 1], [64, 1, 1], 0);
    let one: Shape = ([1, 1, 1], [256, 1, 1], 0);
    let (x, y) = (floats(&drawn(256, 1)), floats(&drawn(256, 2)));
    let list: Vec<(&str, &str, Shape, Vec<Argument>)> = vec![
        ("branch", "branch", ([1, 1, 1], [64, 1, 1], 0), vec![word(2), words(&[0; 64])]),
        ("saxpy", "saxpy", line, vec![word(100), float(2.5), x.clone(), y.clone()]),
        ("spaces", "spaces", ([2, 1, 1], [32, 1, 1], 0), vec![words(&[0; 128])]),
        ("stride", "stride", line, vec![word(100), word(3), word(2), x.clone(), y.clone()]),
        ("sum-shared", "sum", one, vec![x.clone(), floats(&[0.0])]),
        ("sum-shuffle", "sum", ([1, 1, 1], [32, 1, 1], 0), vec![x.clone(), floats(&[0.0])]),
    ];
    for (file, kernel, shape, arguments) in &list {
        both(&text(&format!("book/kernels/{file}.cu")), kernel, *shape, arguments);
    }
    // Checks that no kernel of the book is left out. Those with a mistake that the book explains only have to compile.
    let mut found = Vec::new();
    files(&root().join("book/kernels"), &mut found);
    for path in found {
        let source = std::fs::read_to_string(&path).unwrap();
        let name = path.strip_prefix(root().join("book/kernels")).unwrap().with_extension("");
        let name = name.to_string_lossy().replace('\\', "/");
        if !list.iter().any(|one| one.0 == name) {
            let known = ["faults/", "mistakes/", "planted/"];
            assert!(known.iter().any(|folder| name.starts_with(folder)), "{name} isn't run");
            if cuda_c::compile(&source, &cuda_c::CompileOptions::default()).is_err() {
                assert!(name.starts_with("mistakes/"), "{name} doesn't compile");
            }
        }
    }
}

/// Collects all `.cu` files below a folder.
fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    let mut entries: Vec<PathBuf> =
        std::fs::read_dir(folder).into_iter().flatten().flatten().map(|one| one.path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            files(&path, found);
        } else if path.extension().is_some_and(|end| end == "cu") {
            found.push(path);
        }
    }
}

/// The module `kernels` compares each kernel of level 2 and autograd; this test checks that none is left out.
#[test]
fn the_kernels_of_the_levels() {
    let mut found = Vec::new();
    files(&root().join("kernels"), &mut found);
    assert!(found.len() >= 21, "{found:?}");
    let tests = include_str!("kernels.rs");
    for path in found {
        let source = std::fs::read_to_string(&path).unwrap();
        let made = cuda_c::compile(&source, &cuda_c::CompileOptions::default()).unwrap();
        for kernel in made.kernels {
            let name = cuda_c::source_name(&kernel);
            assert!(tests.contains(&format!("\"{name}\"")), "{name} isn't run");
        }
        if let Ok(one) = path.strip_prefix(root().join("kernels/products")) {
            let name = format!("\"products/{}\"", one.with_extension("").display());
            assert!(tests.contains(&name), "{name} isn't run");
        }
    }
}

/// The puzzles' solutions and frames compile for all architectures, and the emulator loads them.
#[test]
fn the_kernels_of_the_puzzles() {
    let mut found = Vec::new();
    files(&root().join("crates/puzzles"), &mut found);
    assert!(found.len() > 100, "{}", found.len());
    let emulator = ptx_emulator::Emulator::new(ptx_emulator::RunOptions::default());
    for path in found {
        let own = compile(&std::fs::read_to_string(&path).unwrap());
        load(&emulator, &path.display().to_string(), &own);
    }
}
