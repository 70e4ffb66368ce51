//! Compiles `kernels/*.cu` to the committed PTX; `scripts/compile-kernels.sh` runs it.

use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Parser;
use gpu::{Compiler, compile, source};
use host::file::write_atomically;

/// Compiles the kernels to PTX.
///
/// Needs NVRTC 12.x (`pip install nvidia-cuda-nvrtc-cu12`) or nvcc of CUDA 12, and no GPU. Kernels
/// with headers also need the wheels `nvidia-cuda-runtime-cu12` and `nvidia-cuda-nvcc-cu12`.
#[derive(Parser)]
#[command(name = "scripts/compile-kernels.sh")]
struct Arguments {
    /// Also compile kernels whose PTX is up to date.
    #[arg(long)]
    all: bool,
    /// The sources [default: all in the folder kernels and its subfolders].
    #[arg(value_name = "FILE.cu")]
    files: Vec<PathBuf>,
}

fn main() -> ExitCode {
    host::main(|| {
        let arguments = match host::parse(|command| command) {
            Ok(arguments) => arguments,
            Err(code) => return code,
        };
        match run(&arguments) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                host::complain(format_args!("error: {error}"));
                ExitCode::FAILURE
            }
        }
    })
}

fn run(arguments: &Arguments) -> Result<(), Box<dyn std::error::Error>> {
    let mut files = arguments.files.clone();
    if files.is_empty() {
        let folder = source::folder().ok_or("there is no folder kernels")?;
        files = source::all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    }
    for path in files {
        compile_one(&path, arguments.all)
            .map_err(|error| format!("{}: {error}", path.display()))?;
    }
    Ok(())
}

fn compile_one(path: &Path, always: bool) -> Result<(), Box<dyn std::error::Error>> {
    let name = source::shown(path);
    let text = std::fs::read_to_string(path)?;
    let output = path.with_extension("ptx");
    let fresh = std::fs::read_to_string(&output).is_ok_and(|ptx| source::is_fresh(&text, &ptx));
    if fresh && !always {
        return Ok(host::print(&format!("{name}: as it was\n"))?);
    }
    let ptx = compile::with_compiler(Compiler::Nvrtc, &name, &text)?;
    let wanted = compile::architecture(&text);
    let target = format!(".target sm_{wanted}");
    if !ptx.lines().any(|line| line.starts_with(&target)) {
        return Err(format!("this compiler has given up sm_{wanted}; one of CUDA 12 has it").into());
    }
    if !ptx.lines().any(|line| line == ".version 8.0") {
        let reason = ptx.lines().nth(2).unwrap_or_default().trim_start_matches("// ").to_owned();
        return Err(format!("a driver of CUDA 12.0 would refuse it ({reason})").into());
    }
    write_atomically::<io::Error>(&output, |file| file.write_all(ptx.as_bytes()))?;
    Ok(host::print(&format!("{name}: compiled\n"))?)
}
