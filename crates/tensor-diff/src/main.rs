//! `tensor-diff REFERENCE CANDIDATE`: compares two dumps and names the first tensor that differs.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Parser;
use tensor::{Dump, DumpError, file};
use tensor_diff::{compare, write_json, write_table};
use thiserror::Error;

/// They agree.
const AGREE: u8 = 0;
/// They differ.
const DIFFER: u8 = 1;
/// Nothing can be said: bad usage, an unreadable dump, a report that can't be written.
const UNUSABLE: u8 = 2;

/// Compares two dumps of the same training step and names the first tensor that differs.
///
/// The tolerance of every element is derived from the reference's values and from the arithmetic
/// that the two dumps name in their headers. Exits with 0 when the dumps agree, 1 when they differ
/// and 2 when it can't read its input.
#[derive(Parser)]
#[command(version)]
struct Arguments {
    /// The dump to trust, .json or .json.gz.
    reference: PathBuf,
    /// The dump to judge, .json or .json.gz.
    candidate: PathBuf,
    /// Write the result as JSON to FILE, or to standard output in place of the table.
    #[arg(long, value_name = "FILE", num_args = 0..=1)]
    json: Option<Option<PathBuf>>,
    /// Multiply every tolerance by X.
    #[arg(long, value_name = "X", default_value_t = 1.0, value_parser = factor)]
    scale_tolerance: f64,
}

fn factor(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(factor) if f64::is_finite(factor) && factor >= 0.0 => Ok(factor),
        _ => Err("expected a number that is finite and not negative".into()),
    }
}

#[derive(Debug, Error)]
enum Failure {
    #[error(transparent)]
    Dump(#[from] DumpError),
    #[error(
        "--json would overwrite the dump {}: name another file, or give --json last, without one, \
         for standard output",
        .0.display()
    )]
    Overwrites(PathBuf),
    #[error("can't write the report {}: {source}", path.display())]
    Report { path: PathBuf, source: io::Error },
    #[error("can't write to standard output: {0}")]
    Output(#[source] io::Error),
}

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(code) => ExitCode::from(code),
        Err(failure) => {
            // Nothing is left to do when standard error is closed too.
            let _ = writeln!(anstream::stderr(), "error: {failure}");
            ExitCode::from(UNUSABLE)
        }
    }
}

fn run(arguments: &Arguments) -> Result<u8, Failure> {
    let Arguments { reference: reference_path, candidate: candidate_path, json, scale_tolerance } =
        arguments;
    if let Some(Some(report)) = json
        && [reference_path, candidate_path].into_iter().any(|dump| is_same_file(dump, report))
    {
        return Err(Failure::Overwrites(report.clone()));
    }
    let reference = Dump::read(reference_path)?;
    let candidate = Dump::read(candidate_path)?;
    let comparison = compare(&reference, &candidate, *scale_tolerance);

    let left = (reference_path.as_path(), &reference);
    let right = (candidate_path.as_path(), &candidate);
    if let Some(Some(path)) = json {
        file::write_atomically(path, |out| write_json(out, &comparison, left, right))
            .map_err(|source| Failure::Report { path: path.clone(), source })?;
    }
    let mut text = Vec::new();
    if matches!(json, Some(None)) {
        write_json(&mut text, &comparison, left, right)
    } else {
        write_table(&mut text, &comparison, left, right)
    }
    .map_err(Failure::Output)?;
    print(&text).map_err(Failure::Output)?;
    Ok(if comparison.agrees() { AGREE } else { DIFFER })
}

/// Prints, without colours where they don't belong. A reader that went away, such as `head`, has
/// seen enough; the exit code still tells the verdict.
fn print(text: &[u8]) -> io::Result<()> {
    let mut out = anstream::stdout().lock();
    match out.write_all(text).and_then(|()| out.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        result => result,
    }
}

fn is_same_file(a: &Path, b: &Path) -> bool {
    matches!((fs::canonicalize(a), fs::canonicalize(b)), (Ok(a), Ok(b)) if a == b)
}
