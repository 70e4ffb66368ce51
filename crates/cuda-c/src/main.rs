//! `cuda-c kernel.cu --out kernel.ptx`: compiles a file of CUDA C to PTX.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Parser;

/// Compiles CUDA C to PTX.
///
/// The PTX goes to standard output, or where `--out` says; what is wrong, with the line that it is
/// about, to standard error.
#[derive(Debug, Parser)]
#[command(name = "cuda-c", version)]
struct Arguments {
    /// The file to compile, with kernels and the functions that they call.
    source: PathBuf,
    /// Where the PTX goes.
    #[arg(long, short, value_name = "FILE")]
    out: Option<PathBuf>,
    /// The architecture to compile for, as 80 for sm_80.
    #[arg(long, default_value_t = 80, value_parser = clap::value_parser!(u32).range(i64::from(cuda_c::OLDEST)..=i64::from(cuda_c::NEWEST)))]
    arch: u32,
    /// Whether a product that is added becomes fma, which rounds once.
    #[arg(long, value_name = "BOOL", default_value_t = true, action = clap::ArgAction::Set)]
    fmad: bool,
    /// A folder in which #include looks for files; may be given several times.
    #[arg(short = 'I', value_name = "FOLDER")]
    include: Vec<PathBuf>,
    /// A macro that is defined: NAME or NAME=VALUE.
    #[arg(short = 'D', value_name = "MACRO")]
    define: Vec<String>,
    /// Leaves out the .loc lines, which say what line of the source each instruction comes of.
    #[arg(long)]
    no_lines: bool,
}

/// Files beside the one that includes them, then in the folders that were given.
struct Folders(Vec<PathBuf>);

impl cuda_c::Resolver for Folders {
    fn resolve(&self, include: &str, from: &str) -> Option<(String, String)> {
        let beside = Path::new(from).parent().map(Path::to_path_buf);
        beside.iter().chain(&self.0).find_map(|folder| {
            let path = folder.join(include);
            let text = std::fs::read_to_string(&path).ok()?;
            Some((path.display().to_string(), text))
        })
    }
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let name = arguments.source.display().to_string();
    let source = match std::fs::read_to_string(&arguments.source) {
        Ok(source) => source,
        Err(error) => {
            anstream::eprintln!("error: {name} can't be read: {error}");
            return ExitCode::from(2);
        }
    };
    let folders = Folders(arguments.include);
    let define = |text: &String| {
        let (name, value) = text.split_once('=').unwrap_or((text, "1"));
        (name.to_owned(), value.to_owned())
    };
    let options = cuda_c::Options {
        name: &name,
        arch: arguments.arch,
        fmad: arguments.fmad,
        lines: !arguments.no_lines,
        defines: arguments.define.iter().map(define).collect(),
        resolver: Some(&folders),
    };
    let ptx = match cuda_c::compile(&source, &options) {
        Ok(ptx) => ptx,
        Err(diagnostics) => {
            for diagnostic in diagnostics {
                anstream::eprintln!("{diagnostic}");
            }
            return ExitCode::FAILURE;
        }
    };
    for warning in &ptx.warnings {
        anstream::eprintln!("{warning}");
    }
    let Some(out) = arguments.out else {
        return match std::io::stdout().lock().write_all(ptx.text.as_bytes()) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
            Err(error) => {
                anstream::eprintln!("error: the PTX can't be written: {error}");
                ExitCode::FAILURE
            }
        };
    };
    if let Err(error) =
        tensor::file::write_atomically(&out, |file| file.write_all(ptx.text.as_bytes()))
    {
        anstream::eprintln!("error: {} can't be written: {error}", out.display());
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}
