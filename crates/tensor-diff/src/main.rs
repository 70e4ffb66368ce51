//! `tensor-diff [REFERENCE] DUMP...`: names the first tensor of each dump that is wrong.

mod findings;
mod ranks;
mod samples;

use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, ValueHint};
use host::file;
use tensor::{Dump, DumpError};
use thiserror::Error;

use crate::findings::{Findings, Incomparable};
use crate::ranks::{Incomplete, put_together};
use crate::samples::Unreadable;

/// They agree.
const AGREE: u8 = 0;
/// They differ.
const DIFFER: u8 = 1;
/// Nothing can be said: bad usage, an unreadable dump, a report that can't be written.
const UNUSABLE: u8 = 2;

/// Compares dumps of the same training step and names the first tensor that differs; or judges one
/// dump by itself.
///
/// With one FILE, every operation is done again in float64 on the dump's own inputs to it. With two,
/// the second is held against the first, and whatever differs is said to be at fault itself or to
/// have inherited the difference; with more, each is. A file may hold a run of several steps. Files
/// of several ranks, each with its share of a batch, are put together, and count as one. The
/// tolerance of every element is derived from the values and from the arithmetic that the headers name. A tensor that
/// is within it but far further off than rounding usually gets is warned about. Exits with 0 when there is nothing
/// wrong, warnings or not, with 1 when there is and with 2 when it can't read its input.
#[derive(Parser)]
#[command(version, override_usage = "tensor-diff [OPTIONS] [REFERENCE] DUMP...")]
struct Arguments {
    /// The dumps to judge, .json or .json.gz; before them, the dump to trust, if there is one.
    #[arg(value_name = "FILE", required = true, num_args = 1.., value_hint = ValueHint::FilePath)]
    files: Vec<PathBuf>,
    /// Write the result as JSON to FILE, or to standard output in place of the table.
    #[arg(long, value_name = "FILE", num_args = 0..=1)]
    json: Option<Option<PathBuf>>,
    /// Write a page to look at to FILE: heat maps, the chain of computation, one file that loads
    /// nothing.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    html: Option<PathBuf>,
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
        host::shown(.0)
    )]
    Overwrites(PathBuf),
    #[error("--html would overwrite {}: name another file for the page", host::shown(.0))]
    PageOverwrites(PathBuf),
    #[error("can't write the report {}: {source}", host::shown(path))]
    Report { path: PathBuf, source: io::Error },
    #[error("can't compare {} with {}: {reason}", host::shown(candidate), host::shown(reference))]
    Incomparable { reference: PathBuf, candidate: PathBuf, reason: String },
    #[error("can't put the ranks of {} together: {reason}", host::shown(path))]
    Ranks { path: PathBuf, reason: String },
    #[error(
        "can't compare the samples with MNIST, which MNIST_DIR names: {}: {reason}",
        host::shown(path)
    )]
    Mnist { path: PathBuf, reason: String },
    #[error("can't write to standard output: {0}")]
    Output(#[source] io::Error),
}

impl From<Incomparable> for Failure {
    fn from(Incomparable { reference, candidate, reason }: Incomparable) -> Self {
        Self::Incomparable { reference, candidate, reason }
    }
}

impl From<Incomplete> for Failure {
    fn from(Incomplete { path, reason }: Incomplete) -> Self {
        Self::Ranks { path, reason }
    }
}

impl From<Unreadable> for Failure {
    fn from(Unreadable { path, reason }: Unreadable) -> Self {
        Self::Mnist { path, reason }
    }
}

fn main() -> ExitCode {
    host::main(|| {
        let arguments = match host::parse(|command| command) {
            Ok(arguments) => arguments,
            Err(code) => return code,
        };
        match run(&arguments) {
            Ok(code) => ExitCode::from(code),
            Err(Failure::Output(error)) => ExitCode::from(host::lost_output(&error, UNUSABLE)),
            Err(failure) => {
                host::complain(format_args!("error: {failure}"));
                ExitCode::from(UNUSABLE)
            }
        }
    })
}

/// The folder of MNIST's files, if `MNIST_DIR` names one.
fn mnist() -> Option<PathBuf> {
    std::env::var_os("MNIST_DIR").filter(|folder| !folder.is_empty()).map(PathBuf::from)
}

fn run(arguments: &Arguments) -> Result<u8, Failure> {
    let Arguments { files, json, html, scale_tolerance } = arguments;
    if let Some(Some(report)) = json
        && files.iter().any(|dump| file::is_same(dump, report))
    {
        return Err(Failure::Overwrites(report.clone()));
    }
    if let Some(page) = html {
        let report = json.iter().flatten();
        if files.iter().chain(report).any(|other| file::is_same(other, page)) {
            return Err(Failure::PageOverwrites(page.clone()));
        }
    }
    let read = files
        .iter()
        .map(|path| Ok((path.clone(), Dump::read_run(path)?)))
        .collect::<Result<Vec<_>, DumpError>>()?;
    let sources = put_together(read)?;
    let runs: Vec<_> = sources.iter().map(|one| (one.path.as_path(), &one.run[..])).collect();
    let differences: Vec<String> = sources
        .iter()
        .flat_map(|one| {
            one.differences.iter().map(|it| format!("{}: {it}", host::shown(&one.path)))
        })
        .collect();
    let of_mnist = samples::differences(&runs, mnist().as_deref())?;
    let found = Findings::new(&runs, differences, of_mnist, *scale_tolerance)?;
    if let Some(Some(path)) = json {
        file::write_atomically(path, |out| found.json(out))
            .map_err(|source| Failure::Report { path: path.clone(), source })?;
    }
    if let Some(path) = html {
        file::write_atomically(path, |out| found.html(out, *scale_tolerance))
            .map_err(|source| Failure::Report { path: path.clone(), source })?;
    }
    let mut text = Vec::new();
    let written =
        if matches!(json, Some(None)) { found.json(&mut text) } else { found.text(&mut text) };
    written.map_err(Failure::Output)?;
    host::print(&String::from_utf8_lossy(&text)).map_err(Failure::Output)?;
    Ok(if found.agrees() { AGREE } else { DIFFER })
}
