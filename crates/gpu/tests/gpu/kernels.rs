//! Tests of the committed kernels: they are complete, up to date with their sources, and loadable by the
//! oldest supported driver and card. NVIDIA's tools are used if they are installed.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use gpu::{Compiler, GpuError, KERNELS, Kernel, PRODUCTS, compile, library, source};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kernels")
}

#[test]
fn the_list_has_exactly_the_kernels_of_the_folder() {
    for (list, prefix) in [(KERNELS, ""), (PRODUCTS, "products/")] {
        let listed: BTreeSet<String> = list.iter().map(|kernel| kernel.name.to_owned()).collect();
        assert_eq!(listed.len(), list.len(), "a kernel is listed twice");
        for extension in ["cu", "ptx"] {
            let present: BTreeSet<String> = fs::read_dir(folder().join(prefix))
                .unwrap()
                .map(|entry| entry.unwrap().path())
                .filter(|path| path.extension().is_some_and(|end| end == extension))
                .map(|path| format!("{prefix}{}", path.file_stem().unwrap().to_str().unwrap()))
                .collect();
            assert_eq!(listed, present, "kernels/{prefix}*.{extension}");
        }
    }
}

#[test]
fn no_ptx_is_stale() {
    for path in source::all(&folder()).unwrap() {
        let (text, name) = (fs::read_to_string(&path).unwrap(), source::shown(&path));
        let ptx = fs::read_to_string(path.with_extension("ptx")).unwrap_or_default();
        assert!(
            source::is_fresh(&text, &ptx),
            "{name} was edited since its PTX was compiled: run scripts/compile-kernels.sh"
        );
        assert!(!source::is_fresh(&format!("{text} "), &ptx), "{name}: any edit is noticed");
    }
}

/// The name, the path and the PTX of every source in the folder and its subfolders.
fn compiled() -> Vec<(String, PathBuf, String)> {
    let sources = source::all(&folder()).unwrap().into_iter();
    let read = |path: PathBuf| {
        let ptx = path.with_extension("ptx");
        (source::shown(&path), ptx.clone(), fs::read_to_string(ptx).unwrap())
    };
    sources.map(read).collect()
}

/// The `.target` for the oldest supported cards. Kernels for tensor cores need newer ones.
fn target(file: &Path) -> &'static str {
    if file.file_stem().is_some_and(|name| name == "wmma") {
        ".target sm_80"
    } else {
        ".target sm_50"
    }
}

#[test]
fn the_ptx_is_for_the_oldest_driver_and_card() {
    for (name, file, ptx) in compiled() {
        let lines: Vec<&str> = ptx.lines().collect();
        for wanted in [".version 8.0", target(&file), ".address_size 64"] {
            assert!(lines.contains(&wanted), "{name}: {wanted}");
        }
        assert!(!ptx.contains("\"/"), "{name} names a file of the machine that compiled it");
        assert!(ptx.is_ascii(), "{name}: PTX is ASCII");
    }
    for kernel in KERNELS {
        let entries = kernel.ptx.matches(".entry").count();
        assert_eq!(entries, 1, "{} is one kernel", kernel.name);
        assert!(kernel.ptx.contains(&format!(".entry {}(", kernel.name)), "{}", kernel.name);
        let file = format!("\"kernels/{}.cu\"", kernel.name);
        assert!(kernel.ptx.contains(&file), "{}: .loc leads to {file}", kernel.name);
    }
    for Kernel { name, ptx, .. } in PRODUCTS {
        assert_eq!(ptx.matches(".entry").count(), 3, "{name} has the three products");
        assert!(
            ptx.contains(&format!("\"kernels/{name}.cu\"")),
            "{name}: .loc leads to its source"
        );
    }
}

/// ptxas rejects features that are newer than the `.version`.
#[test]
fn ptxas_accepts_them() {
    let Some(ptxas) = library::tools("ptxas").into_iter().next() else {
        skipped::skip("there is no ptxas; pip install nvidia-cuda-nvcc-cu12");
        return;
    };
    let output = tempfile::tempdir().unwrap();
    for (name, file, _) in compiled() {
        // ptxas of CUDA 13 doesn't support the oldest cards.
        let oldest = target(&file).trim_start_matches(".target ");
        let accepted = [oldest, oldest.max("sm_75")].into_iter().any(|card| {
            let mut command = Command::new(&ptxas);
            command.args(["-arch", card, "-o"]).arg(output.path().join("out")).arg(&file);
            command.output().unwrap().status.success()
        });
        assert!(accepted, "{name}");
    }
}

/// The PTX hasn't been edited by hand: the compiler named in its first line generates the same text.
#[test]
fn the_compiler_generates_the_committed_ptx() {
    for kernel in KERNELS.iter().chain(PRODUCTS) {
        let file = format!("kernels/{}.cu", kernel.name);
        let ptx = match compile::with_compiler(Compiler::Nvrtc, &file, kernel.source) {
            Ok(ptx) => ptx,
            Err(GpuError::NoCompiler(reason)) => {
                skipped::skip(reason);
                return;
            }
            Err(other) => panic!("{other}"),
        };
        if ptx.lines().next() == kernel.ptx.lines().next() {
            assert_eq!(ptx, kernel.ptx, "{}", kernel.name);
        } else {
            let made = kernel.ptx.lines().next().unwrap_or_default();
            skipped::skip(format!("NVRTC is another than that of {made:?}"));
        }
    }
}

#[test]
fn compile_errors_have_the_compiler_s_messages() {
    let broken = "extern \"C\" __global__ void broken() { x = 1; }\n";
    match compile::with_compiler(Compiler::BuiltIn, "kernels/broken.cu", broken) {
        Err(GpuError::Compile { log, compiler, .. }) => {
            assert_eq!(compiler, "cuda-c");
            assert!(log.contains("kernels/broken.cu:1:") && log.contains("`x`"), "{log}");
        }
        other => panic!("{other:?}"),
    }
    match compile::with_compiler(Compiler::Nvrtc, "kernels/broken.cu", broken) {
        Err(GpuError::NoCompiler(reason)) => skipped::skip(reason),
        Err(GpuError::Compile { log, .. }) => {
            assert!(log.contains("kernels/broken.cu(1)") && log.contains("\"x\""), "{log}");
        }
        other => panic!("{other:?}"),
    }
}

/// The built-in compiler accepts every kernel without warnings, and its PTX has the same version as NVRTC's.
#[test]
fn the_built_in_compiler_accepts_them() {
    for path in source::all(&folder()).unwrap() {
        let (text, name) = (fs::read_to_string(&path).unwrap(), source::shown(&path));
        let ptx = compile::with_compiler(Compiler::BuiltIn, &name, &text).unwrap();
        assert!(source::is_fresh(&text, &ptx), "{name}: the header has the digest");
        let lines: Vec<&str> = ptx.lines().collect();
        let target = target(&path);
        for wanted in [".version 8.0", target, ".address_size 64"] {
            assert!(lines.contains(&wanted), "{name}: {wanted}\n{}", lines[..8].join("\n"));
        }
        let architecture = target.trim_start_matches(".target sm_");
        let started = format!("// {name}, compiled by cuda-c, --arch {architecture}");
        assert_eq!(lines[0], started);
        let options = cuda_c::CompileOptions { name: &name, ..cuda_c::CompileOptions::default() };
        let warnings = cuda_c::compile(&text, &options).unwrap().warnings;
        assert!(warnings.is_empty(), "{name}: {warnings:?}");
    }
}
