//! `cuda-c kernel.cu --out kernel.ptx`: compiles a file of CUDA C to PTX.

mod interleave;

use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;

/// Compiles CUDA C to PTX.
///
/// The PTX is written to standard output, or to the file of `--out`. Errors and warnings, with the
/// source line, go to standard error.
#[derive(Debug, Parser)]
#[command(name = "cuda-c", version)]
struct Arguments {
    /// The file to compile, with kernels and the functions that they call.
    source: PathBuf,
    /// The file to write the PTX to.
    #[arg(long, short, value_name = "FILE")]
    out: Option<PathBuf>,
    /// The architecture to compile for: 80 for sm_80.
    #[arg(long, default_value_t = 80, value_parser = architecture)]
    arch: u32,
    /// Contract multiplications and additions to fma, which rounds once.
    #[arg(long, value_name = "BOOL", default_value_t = true, action = clap::ArgAction::Set)]
    fmad: bool,
    /// A folder in which #include looks for files; can be repeated.
    #[arg(short = 'I', value_name = "FOLDER")]
    include: Vec<PathBuf>,
    /// Predefine a macro: NAME or NAME=VALUE.
    #[arg(short = 'D', value_name = "MACRO")]
    define: Vec<String>,
    /// Instantiate a kernel template, named as the host names it: 'copy<float, 4>'; can be
    /// repeated.
    #[arg(long, value_name = "NAME")]
    name: Vec<String>,
    /// Omit the .loc directives, which name the source line of each instruction.
    #[arg(long)]
    no_lines: bool,
    /// Show each line of the source, followed by its instructions.
    #[arg(long, conflicts_with_all = ["no_lines", "out"])]
    beside: bool,
}

/// Parses an architecture.
fn architecture(text: &str) -> Result<u32, String> {
    let known = cuda_c::ARCHITECTURES;
    known.into_iter().find(|arch| arch.to_string() == text).ok_or_else(|| {
        format!("it has to be one of {}", known.map(|arch| arch.to_string()).join(", "))
    })
}

fn main() -> ExitCode {
    host::main(|| match host::parse(|command| command) {
        Ok(arguments) => ExitCode::from(execute(&arguments)),
        Err(code) => code,
    })
}

/// Compiles. The exit code is 0 for success, 1 if the source has errors or the PTX can't be
/// written, and 2 if the source can't be read.
fn execute(arguments: &Arguments) -> u8 {
    let name = host::shown(&arguments.source).to_string();
    let source = match host::input::text(&arguments.source) {
        Ok(text) => text,
        Err(error) => {
            host::complain(format_args!("error: can't read {name}: {error}"));
            return 2;
        }
    };
    let folders = cuda_c::Folders(arguments.include.clone());
    let define = |text: &String| {
        let (name, value) = text.split_once('=').unwrap_or((text, "1"));
        (name.to_owned(), value.to_owned())
    };
    let options = cuda_c::CompileOptions {
        name: &name,
        arch: arguments.arch,
        fmad: arguments.fmad,
        lines: !arguments.no_lines,
        defines: arguments.define.iter().map(define).collect(),
        resolver: Some(&folders),
        names: arguments.name.clone(),
    };
    let (ptx, diagnostics) = match cuda_c::compile(&source, &options) {
        Ok(ptx) => (Some(ptx.text), ptx.warnings),
        Err(diagnostics) => (None, diagnostics),
    };
    for diagnostic in diagnostics {
        host::complain(diagnostic);
    }
    let Some(ptx) = ptx else { return 1 };
    let Some(out) = &arguments.out else {
        let ptx = if arguments.beside { interleave::interleave(&source, &ptx) } else { ptx };
        return match host::print(&ptx) {
            Ok(()) => 0,
            Err(error) => host::lost_output(&error, 1),
        };
    };
    match host::file::write_atomically::<io::Error>(out, |file| file.write_all(ptx.as_bytes())) {
        Ok(()) => 0,
        Err(error) => {
            host::complain(format_args!("error: can't write {}: {error}", host::shown(out)));
            1
        }
    }
}
