//! CUDA C to PTX, by NVIDIA's compilers or by the built-in one.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::nvrtc::Nvrtc;
use crate::{Compiler, GpuError, Result, library, ptx_version, source};

/// The oldest cards that the kernels run on, compute capability 5.0. Compilers of CUDA 13 have
/// given them up: what they compile runs from 7.5 on.
pub const ARCHITECTURE: i32 = 50;

/// Those that multiply TF32 on tensor cores, compute capability 8.0.
const TENSOR_CORES: i32 = 80;

/// What helps where NVRTC can't find what a source includes.
const NO_HEADERS: &str = "NVIDIA's headers are not found beside NVRTC: `pip install nvidia-cuda-runtime-cu12 \
                          nvidia-cuda-nvcc-cu12`, or take --compiler built-in, which has its own";

/// Whether a source includes `mma.h`, the one header that kernels here need.
fn includes(source: &str) -> bool {
    let is_include = |line: &str| {
        let words = line.trim().strip_prefix('#').map(str::trim_start);
        words
            .and_then(|words| words.strip_prefix("include"))
            .is_some_and(|what| what.contains("<mma.h>"))
    };
    source.lines().any(is_include)
}

/// The oldest cards that a source can be compiled for, as 50 for compute capability 5.0:
/// [`ARCHITECTURE`] but for those that include `mma.h`.
#[must_use]
pub fn architecture(source: &str) -> i32 {
    if includes(source) { TENSOR_CORES } else { ARCHITECTURE }
}

/// Compiles a source to PTX. `file` is its name as people should read it, `kernels/relu.cu`. The
/// header says from which source and by what.
///
/// # Errors
/// When there is no such compiler here, or it does not accept the source.
pub fn by(compiler: Compiler, file: &str, source: &str) -> Result<String> {
    match compiler {
        Compiler::Nvrtc => by_nvidia(file, source),
        Compiler::BuiltIn => built_in(file, source),
    }
}

/// Compiles by the crate `cuda-c`. What it warns of goes to standard error.
fn built_in(file: &str, source: &str) -> Result<String> {
    let architecture = architecture(source);
    let arch = architecture.unsigned_abs();
    let options = cuda_c::Options { name: file, arch, ..cuda_c::Options::default() };
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

/// Compiles by NVRTC where it is found, else by nvcc.
fn by_nvidia(file: &str, source: &str) -> Result<String> {
    let missing = match Nvrtc::load() {
        Ok(nvrtc) => {
            let wanted = architecture(source);
            let architectures = nvrtc.architectures()?;
            let oldest = architectures.into_iter().find(|one| *one >= wanted);
            let options = [
                format!("--gpu-architecture=compute_{}", oldest.unwrap_or(wanted)),
                "--generate-line-info".into(),
            ];
            // Headers lie elsewhere on each machine: they are no part of what the PTX says of itself.
            let headers = nvrtc.headers();
            let folders =
                headers.iter().map(|folder| format!("--include-path={}", folder.display()));
            let all: Vec<String> = options.iter().cloned().chain(folders).collect();
            let ptx = nvrtc.compile(file, source, &all).map_err(|error| match error {
                GpuError::Compile { name, compiler, log }
                    if headers.is_empty() && includes(source) =>
                {
                    GpuError::Compile { name, compiler, log: format!("{log}\n{NO_HEADERS}") }
                }
                other => other,
            })?;
            let ptx = without(&headers, &ptx);
            return Ok(finish(file, source, &nvrtc.name()?, &options, &ptx));
        }
        Err(missing) => missing,
    };
    match library::tools("nvcc").first() {
        Some(nvcc) => by_nvcc(nvcc, file, source),
        None => Err(missing),
    }
}

/// Compiles by the toolkit's command.
fn by_nvcc(nvcc: &Path, file: &str, source: &str) -> Result<String> {
    let failed = |log: String| GpuError::Compile {
        name: file.into(),
        compiler: nvcc.display().to_string(),
        log,
    };
    let folder = tempfile::tempdir().map_err(|error| failed(error.to_string()))?;
    let input = folder.path().join(file);
    let output = folder.path().join("out.ptx");
    std::fs::create_dir_all(input.parent().unwrap_or(folder.path()))
        .and_then(|()| std::fs::write(&input, source))
        .map_err(|error| failed(error.to_string()))?;
    let mut log = String::new();
    // The second for compilers of CUDA 13.
    let wanted = architecture(source);
    for architecture in [wanted, wanted.max(75)] {
        let options = ["--ptx".into(), format!("-arch=compute_{architecture}"), "-lineinfo".into()];
        let mut command = Command::new(nvcc);
        command.args(&options).arg("-o").arg(&output).arg(file).current_dir(folder.path());
        let run = command.output().map_err(|error| failed(error.to_string()))?;
        if run.status.success() {
            let ptx =
                std::fs::read_to_string(&output).map_err(|error| failed(error.to_string()))?;
            let ptx = ptx.replace(&format!("{}/", folder.path().display()), "");
            return Ok(finish(file, source, "nvcc", &options, &ptx));
        }
        log = String::from_utf8_lossy(&run.stderr).into_owned();
    }
    Err(failed(log))
}

/// PTX that names headers from their folder on, `crt/mma.hpp`, and not by where that is here.
fn without(folders: &[PathBuf], ptx: &str) -> String {
    folders
        .iter()
        .fold(ptx.to_owned(), |ptx, folder| ptx.replace(&format!("\"{}/", folder.display()), "\""))
}

/// Adds the header, stamps the version down where that can be, and takes out the folder that the
/// compiler put before the source's name, which nobody else has.
fn finish(file: &str, source: &str, compiler: &str, options: &[String], ptx: &str) -> String {
    let here = env::current_dir().unwrap_or_default();
    let ptx = ptx.replace(&format!("\"{}/{file}\"", here.display()), &format!("\"{file}\""));
    let (ptx, version) = match ptx_version::stamp_down(&ptx) {
        Ok(stamped) => {
            let found = |text: &str| {
                text.lines()
                    .find_map(|line| line.strip_prefix(".version "))
                    .unwrap_or("?")
                    .to_owned()
            };
            let (before, after) = (found(&ptx), found(&stamped));
            (
                stamped,
                format!(
                    "// .version {after}, stamped down from {before}: nothing newer is in it\n"
                ),
            )
        }
        Err(reason) => (ptx, format!("// .version as the compiler wrote it: {reason}\n")),
    };
    let options = options.join(" ");
    let digest = source::digest_line(source);
    format!(
        "// {file}, compiled by {compiler}, {options}\n{digest}\n{version}{}\n",
        ptx.trim_matches(|c: char| c == '\n' || c == '\0')
    )
}
