//! `tensor-diff [REFERENCE] DUMP`: names the first tensor of a dump that is wrong.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Parser, ValueHint};
use tensor::{Dump, DumpError, file};
use tensor_diff::{
    Comparison, Judgement, RunComparison, compare, compare_runs, judge, judge_run, write_json,
    write_judgement, write_judgement_json, write_run_json, write_run_table, write_table,
};
use thiserror::Error;

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
/// have inherited the difference. A file may hold a run of several steps. The tolerance of every
/// element is derived from the values and from the arithmetic that the headers name. Exits with 0
/// when there is nothing wrong, 1 when there is and 2 when it can't read its input.
#[derive(Parser)]
#[command(version, override_usage = "tensor-diff [OPTIONS] [REFERENCE] DUMP")]
struct Arguments {
    /// The dump to judge, .json or .json.gz; before it, the dump to trust, if there is one.
    #[arg(value_name = "FILE", required = true, num_args = 1..=2, value_hint = ValueHint::FilePath)]
    files: Vec<PathBuf>,
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
        host::shown(.0)
    )]
    Overwrites(PathBuf),
    #[error("can't write the report {}: {source}", host::shown(path))]
    Report { path: PathBuf, source: io::Error },
    #[error("can't compare {} with {}: {reason}", host::shown(candidate), host::shown(reference))]
    Incomparable { reference: PathBuf, candidate: PathBuf, reason: String },
    #[error("can't write to standard output: {0}")]
    Output(#[source] io::Error),
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

fn run(arguments: &Arguments) -> Result<u8, Failure> {
    let Arguments { files, json, scale_tolerance } = arguments;
    if let Some(Some(report)) = json
        && files.iter().any(|dump| file::is_same(dump, report))
    {
        return Err(Failure::Overwrites(report.clone()));
    }
    let runs = files
        .iter()
        .map(|path| Ok((path.as_path(), Dump::read_run(path)?)))
        .collect::<Result<Vec<_>, DumpError>>()?;
    let found = Found::of(&runs, *scale_tolerance)?;
    if let Some(Some(path)) = json {
        file::write_atomically(path, |out| found.json(out))
            .map_err(|source| Failure::Report { path: path.clone(), source })?;
    }
    let mut text = Vec::new();
    let written =
        if matches!(json, Some(None)) { found.json(&mut text) } else { found.table(&mut text) };
    written.map_err(Failure::Output)?;
    host::print(&String::from_utf8_lossy(&text)).map_err(Failure::Output)?;
    Ok(if found.agrees() { AGREE } else { DIFFER })
}

/// A file, and the steps that it holds.
type Run<'a> = (&'a Path, &'a [Dump]);

/// What was found of the files that were named.
enum Found<'a> {
    One(Box<Judgement>, &'a Path, &'a Dump),
    Two(Box<Comparison>, (&'a Path, &'a Dump), (&'a Path, &'a Dump)),
    Runs(RunComparison, Option<Run<'a>>, Run<'a>),
}

impl<'a> Found<'a> {
    fn of(runs: &'a [(&'a Path, Vec<Dump>)], scale: f64) -> Result<Self, Failure> {
        let [.., (path, run)] = runs else { unreachable!("clap asks for one file at least") };
        let reference = (runs.len() == 2).then(|| (runs[0].0, &runs[0].1[..]));
        Ok(match (reference, &run[..]) {
            (None, [dump]) => Self::One(Box::new(judge(dump, scale)), path, dump),
            (Some((reference_path, [reference])), [dump]) => {
                let comparison = Box::new(compare(reference, dump, scale));
                Self::Two(comparison, (reference_path, reference), (path, dump))
            }
            (None, run) => Self::Runs(judge_run(run, scale), None, (path, run)),
            (Some((reference_path, reference)), run) => {
                let found = compare_runs(reference, run, scale).map_err(|reason| {
                    Failure::Incomparable {
                        reference: reference_path.to_owned(),
                        candidate: path.to_path_buf(),
                        reason,
                    }
                })?;
                Self::Runs(found, Some((reference_path, reference)), (path, run))
            }
        })
    }

    fn agrees(&self) -> bool {
        match self {
            Self::One(judgement, ..) => judgement.is_clean(),
            Self::Two(comparison, ..) => comparison.agrees(),
            Self::Runs(found, ..) => found.agrees(),
        }
    }

    fn table(&self, out: &mut dyn Write) -> io::Result<()> {
        match self {
            Self::One(judgement, path, dump) => write_judgement(out, judgement, path, dump),
            Self::Two(comparison, reference, candidate) => {
                write_table(out, comparison, *reference, *candidate)
            }
            Self::Runs(found, reference, run) => write_run_table(out, found, *reference, *run),
        }
    }

    fn json(&self, out: &mut dyn Write) -> io::Result<()> {
        match self {
            Self::One(judgement, path, dump) => write_judgement_json(out, judgement, path, dump),
            Self::Two(comparison, reference, candidate) => {
                write_json(out, comparison, *reference, *candidate)
            }
            Self::Runs(found, reference, (path, run)) => {
                let reference = reference.map(|(path, run)| (path, &run[0]));
                write_run_json(out, found, reference, (path, &run[0]))
            }
        }
    }
}
