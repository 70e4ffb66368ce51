//! `tensor-diff [REFERENCE] DUMP...`: names the first tensor of each dump that is wrong.

mod ranks;
mod samples;

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, ValueHint};
use host::file;
use tensor::{Dump, DumpError};
use tensor_diff::{Candidate, Run, judge_files, write_json, write_page, write_text};
use thiserror::Error;

use crate::ranks::combine_ranks;

/// The exit code if nothing is wrong.
const AGREE: u8 = 0;
/// The exit code if something is wrong.
const DIFFER: u8 = 1;
/// The exit code if there is no verdict: bad usage, an unreadable dump, or a report that can't be written.
const UNUSABLE: u8 = 2;

/// Compare dumps of the same training step and name the first tensor that differs; or judge one dump by itself.
///
/// With one FILE, every operation is recomputed in float64 from the dump's own inputs. With two,
/// the second is compared with the first, and each tensor that differs is reported as wrong by itself or as
/// inherited from its inputs; with more, each file is compared with the first. A file may hold a run of several steps.
/// Files of several ranks, each with its share of a batch, are combined and count as one. The
/// tolerance of every element is derived from the values and from the arithmetic that the headers name. A tensor that
/// is within its tolerance but unusually far off gets a warning. Exits with 0 if nothing is
/// wrong, even with warnings; with 1 if something is; and with 2 if the input can't be read.
#[derive(Parser)]
#[command(version, override_usage = "tensor-diff [OPTIONS] [REFERENCE] DUMP...")]
struct Arguments {
    /// Dumps to judge, .json or .json.gz; with several, the first is the reference.
    #[arg(value_name = "FILE", required = true, num_args = 1.., value_hint = ValueHint::FilePath)]
    files: Vec<PathBuf>,
    /// Write the result as JSON to FILE; without FILE, to standard output instead of the table.
    #[arg(long, value_name = "FILE", num_args = 0..=1)]
    json: Option<Option<PathBuf>>,
    /// Write a self-contained HTML page with heat maps and the chain of computation to FILE.
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

/// A reason to exit without a verdict.
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
    #[error("can't combine the ranks of {}: {reason}", host::shown(path))]
    Ranks { path: PathBuf, reason: String },
    #[error(
        "can't compare the samples with MNIST, which MNIST_DIR names: {}: {reason}",
        host::shown(path)
    )]
    Mnist { path: PathBuf, reason: String },
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

/// The folder of MNIST's files, if `MNIST_DIR` is set.
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
    let read = files.iter().map(|path| Ok((path.clone(), Dump::read_run(path)?)));
    let sources = combine_ranks(read.collect::<Result<Vec<_>, DumpError>>()?)?;
    let runs: Vec<Run<'_>> = sources.iter().map(|one| (one.path.as_path(), &one.run[..])).collect();
    let of_ranks = sources.iter().flat_map(|source| {
        source.differences.iter().map(|one| format!("{}: {one}", host::shown(&source.path)))
    });
    let mut differences = vec![
        Differences {
            key: "mnist_differences",
            head: "the batch is not made of the samples that its header names:",
            sentences: samples::differences(&runs, mnist().as_deref())?,
        },
        Differences {
            key: "rank_differences",
            head: "the ranks differ in tensors that should be the same on all ranks:",
            sentences: of_ranks.collect(),
        },
    ];
    differences.retain(|one| !one.sentences.is_empty());
    // A single file is judged by itself; otherwise each of the others is compared with the first.
    let (reference, files) = match &runs[..] {
        [first, rest @ ..] if !rest.is_empty() => (Some(*first), rest),
        _ => (None, &runs[..]),
    };
    let steps = reference.map(|(_, run)| run);
    let candidates =
        judge_files(steps, files.iter().copied(), *scale_tolerance).map_err(|(at, reason)| {
            Failure::Incomparable {
                reference: runs[0].0.to_owned(),
                candidate: files[at].0.to_owned(),
                reason,
            }
        })?;
    let agrees = differences.is_empty() && candidates.iter().all(|one| one.found.agrees());
    let failed = |path: &PathBuf| {
        let path = path.clone();
        |source| Failure::Report { path, source }
    };
    let report = |out: &mut dyn Write| write_report(out, reference, &candidates, &differences);
    if let Some(Some(path)) = json {
        file::write_atomically(path, |out| report(out)).map_err(failed(path))?;
    }
    if let Some(path) = html {
        let mut candidates = candidates.clone();
        for candidate in &mut candidates {
            let sentences = differences.iter().flat_map(|one| &one.sentences);
            candidate.found.warnings.extend(sentences.cloned());
        }
        let page = |out: &mut dyn Write| write_page(out, reference, &candidates, *scale_tolerance);
        file::write_atomically(path, |out| page(out)).map_err(failed(path))?;
    }
    let mut text = Vec::new();
    if matches!(json, Some(None)) {
        report(&mut text).map_err(Failure::Output)?;
    } else {
        for Differences { head, sentences, .. } in &differences {
            writeln!(text, "{head}\n  {}\n", sentences.join("\n  ")).map_err(Failure::Output)?;
        }
        write_text(&mut text, reference, &candidates).map_err(Failure::Output)?;
    }
    host::print(&String::from_utf8_lossy(&text)).map_err(Failure::Output)?;
    Ok(if agrees { AGREE } else { DIFFER })
}

/// Differences that no bound allows, as sentences: from the samples of MNIST that headers name, or between ranks.
struct Differences {
    /// The name of the differences in the JSON report, and their heading in the text.
    key: &'static str,
    head: &'static str,
    sentences: Vec<String>,
}

/// Writes the JSON report, with these differences.
fn write_report(
    out: &mut dyn Write,
    reference: Option<Run<'_>>,
    candidates: &[Candidate<'_>],
    differences: &[Differences],
) -> io::Result<()> {
    if differences.is_empty() {
        return write_json(out, reference, candidates);
    }
    let mut text = Vec::new();
    write_json(&mut text, reference, candidates)?;
    let mut report: serde_json::Value = serde_json::from_slice(&text)?;
    report["verdict"] = if reference.is_some() { "differ" } else { "wrong" }.into();
    for Differences { key, sentences, .. } in differences {
        report[key] = sentences.clone().into();
    }
    serde_json::to_writer_pretty(&mut *out, &report)?;
    writeln!(out)
}
