//! Compilation of CUDA C to PTX, by NVIDIA's compilers or by the built-in one.

use std::env;
use std::path::Path;
use std::process::Command;

use crate::nvrtc::Nvrtc;
use crate::{Compiler, GpuError, Result, library, ptx_version, source};

/// The architecture of the oldest supported cards, compute capability 5.0. Compilers of CUDA 13 no longer support it:
/// their minimum is 7.5.
pub const ARCHITECTURE: i32 = 50;

/// The oldest architecture with tensor cores for TF32, compute capability 8.0.
const TENSOR_CORES: i32 = 80;

/// The remedy if NVRTC can't find an included header.
const NO_HEADERS: &str = "NVIDIA's headers are not installed next to NVRTC: `pip install nvidia-cuda-runtime-cu12 \
                          nvidia-cuda-nvcc-cu12`, or take --compiler built-in, which has its own";

/// Whether a source includes `mma.h`, the only header that kernels of this project use.
fn includes_mma(source: &str) -> bool {
    let is_include = |line: &str| {
        let words = line.trim().strip_prefix('#').map(str::trim_start);
        words
            .and_then(|words| words.strip_prefix("include"))
            .is_some_and(|what| what.contains("<mma.h>"))
    };
    source.lines().any(is_include)
}

/// The oldest architecture that a source can be compiled for, such as 50 for compute capability 5.0:
/// [`ARCHITECTURE`], unless the source includes `mma.h`.
#[must_use]
pub fn architecture(source: &str) -> i32 {
    if includes_mma(source) { TENSOR_CORES } else { ARCHITECTURE }
}

/// Compiles a source to PTX. `file` is the source's name for messages and for the PTX, such as
/// `kernels/relu.cu`. The first lines of the PTX name the source, its digest and the compiler.
///
/// # Errors
/// [`GpuError::NoCompiler`] if the compiler is missing; [`GpuError::Compile`] if it rejects the source.
pub fn with_compiler(compiler: Compiler, file: &str, source: &str) -> Result<String> {
    match compiler {
        Compiler::Nvrtc => by_nvidia(file, source),
        Compiler::BuiltIn => built_in(file, source),
    }
}

/// Compiles with the crate `cuda-c`. Its warnings are printed to standard error.
fn built_in(file: &str, source: &str) -> Result<String> {
    let architecture = architecture(source);
    let arch = architecture.unsigned_abs();
    let options = cuda_c::CompileOptions { name: file, arch, ..cuda_c::CompileOptions::default() };
    let compiled = cuda_c::compile(source, &options).map_err(|diagnostics| {
        let log: Vec<String> = diagnostics.iter().map(ToString::to_string).collect();
        GpuError::Compile { name: file.into(), compiler: "cuda-c".into(), log: log.concat() }
    })?;
    for warning in &compiled.warnings {
        host::complain(warning.to_string().trim_end());
    }
    let options = [format!("--arch {architecture}")];
    Ok(finish(file, source, "cuda-c", &options, &compiled.text))
}

/// Compiles with NVRTC or, if that is missing, with nvcc.
fn by_nvidia(file: &str, source: &str) -> Result<String> {
    let nvrtc = match (Nvrtc::load(), library::tools("nvcc").first()) {
        (Ok(nvrtc), _) => nvrtc,
        (Err(_), Some(nvcc)) => return by_nvcc(nvcc, file, source),
        (Err(missing), None) => return Err(missing),
    };
    let wanted = architecture(source);
    let oldest = nvrtc.architectures()?.into_iter().find(|one| *one >= wanted).unwrap_or(wanted);
    let options = [format!("--gpu-architecture=compute_{oldest}"), "--generate-line-info".into()];
    // The folders of headers differ between machines, so they are not written to the PTX.
    let headers = nvrtc.headers();
    let folders = headers.iter().map(|folder| format!("--include-path={}", folder.display()));
    let all: Vec<String> = options.iter().cloned().chain(folders).collect();
    let mut ptx = nvrtc.compile(file, source, &all).map_err(|error| match error {
        GpuError::Compile { name, compiler, log } if headers.is_empty() && includes_mma(source) => {
            GpuError::Compile { name, compiler, log: format!("{log}\n{NO_HEADERS}") }
        }
        other => other,
    })?;
    // Header paths in the PTX are made relative to their folder, such as `crt/mma.hpp`.
    for folder in &headers {
        ptx = ptx.replace(&format!("\"{}/", folder.display()), "\"");
    }
    Ok(finish(file, source, &nvrtc.name()?, &options, &ptx))
}

/// Compiles with nvcc, the toolkit's command.
fn by_nvcc(nvcc: &Path, file: &str, source: &str) -> Result<String> {
    let failed = |log: String| GpuError::Compile {
        name: file.into(),
        compiler: nvcc.display().to_string(),
        log,
    };
    let io = |error: std::io::Error| failed(error.to_string());
    let folder = tempfile::tempdir().map_err(io)?;
    let input = folder.path().join(file);
    let output = folder.path().join("out.ptx");
    std::fs::create_dir_all(input.parent().unwrap_or(folder.path()))
        .and_then(|()| std::fs::write(&input, source))
        .map_err(io)?;
    let mut log = String::new();
    // The second attempt names a newer architecture, for compilers of CUDA 13.
    let wanted = architecture(source);
    for architecture in [wanted, wanted.max(75)] {
        let options = ["--ptx".into(), format!("-arch=compute_{architecture}"), "-lineinfo".into()];
        let mut command = Command::new(nvcc);
        command.args(&options).arg("-o").arg(&output).arg(file).current_dir(folder.path());
        let run = command.output().map_err(io)?;
        if run.status.success() {
            let ptx = std::fs::read_to_string(&output).map_err(io)?;
            let ptx = ptx.replace(&format!("{}/", folder.path().display()), "");
            return Ok(finish(file, source, "nvcc", &options, &ptx));
        }
        log = String::from_utf8_lossy(&run.stderr).into_owned();
    }
    Err(failed(log))
}

/// Completes compiled PTX: adds the lines that name the source and the compiler, lowers the PTX version if possible,
/// and removes the working directory from the source's path.
fn finish(file: &str, source: &str, compiler: &str, options: &[String], ptx: &str) -> String {
    let here = env::current_dir().unwrap_or_default();
    let ptx = ptx.replace(&format!("\"{}/{file}\"", here.display()), &format!("\"{file}\""));
    let (ptx, version) = match ptx_version::lower_version(&ptx) {
        Ok((stamped, [before, after])) => {
            (stamped, format!("{after}, stamped down from {before}: nothing newer is in it"))
        }
        Err(reason) => (ptx, format!("as the compiler wrote it: {reason}")),
    };
    let options = options.join(" ");
    let digest = source::digest_line(source);
    format!(
        "// {file}, compiled by {compiler}, {options}\n{digest}\n// .version {version}\n{}\n",
        ptx.trim_matches(|c: char| c == '\n' || c == '\0')
    )
}
