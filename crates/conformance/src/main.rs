//! The suite as a program, for machines without Rust: prints a table, and exits with 0 if every
//! case passed, with 1 if one failed, and with 2 if the command line or a reference dump is wrong.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::builder::PossibleValuesParser;
use clap::{Parser, ValueHint};
use conformance::{Check, Pages, Report, Variant, run_and_keep, table, variants};
use gpu::{Choice, DeviceArgs};
use training::report::write_json;
use training::{Console, Error, Result};

/// Check every level against PyTorch's dumps and against level 1.
#[derive(Parser)]
#[command(version)]
struct Arguments {
    #[command(flatten)]
    device: DeviceArgs,
    /// Only check this level (repeatable).
    #[arg(long, value_name = "LEVEL", value_parser = PossibleValuesParser::new(levels()))]
    level: Vec<String>,
    /// Only run this check (repeatable).
    #[arg(long, value_name = "CHECK", value_enum)]
    check: Vec<Check>,
    /// Folder of the reference dumps, .json or .json.gz [default: the repository's].
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    dumps: Option<PathBuf>,
    /// Write every case as JSON to this file.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    json: Option<PathBuf>,
    /// Write an HTML page for each of PyTorch's dumps, with a column for each variant, to this folder.
    #[arg(long, value_name = "DIR", num_args = 0..=1, default_missing_value = "target/conformance",
          value_hint = ValueHint::DirPath)]
    html: Option<PathBuf>,
}

fn levels() -> Vec<&'static str> {
    let mut levels: Vec<_> = variants(Choice::Auto).iter().map(|variant| variant.level).collect();
    levels.dedup();
    levels
}

fn main() -> ExitCode {
    host::main(|| match host::parse(|command| command).map(|arguments| check(&arguments)) {
        Ok(Ok(true)) => ExitCode::SUCCESS,
        Ok(Ok(false)) => ExitCode::FAILURE,
        Ok(Err(error)) => error.report(),
        Err(code) => code,
    })
}

fn check(arguments: &Arguments) -> Result<bool> {
    if let Some(path) = &arguments.json {
        host::file::check_writable(path)
            .map_err(|source| Error::Write { path: path.clone(), source })?;
    }
    let mut pages = arguments.html.as_deref().map(Pages::new).transpose()?;
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../reference/dumps");
    let dumps = arguments.dumps.as_deref().unwrap_or(&repository);
    let mut chosen = variants(arguments.device.device);
    chosen.retain(|variant| {
        arguments.level.is_empty() || arguments.level.iter().any(|name| name == variant.level)
    });
    let checks = if arguments.check.is_empty() { &Check::ALL[..] } else { &arguments.check };
    let on_gpu = chosen.iter().find(|variant| variant.device.is_some());
    let device = on_gpu.map(Variant::device_name).transpose()?;
    let console = Console::new(arguments.json.is_some());
    console.line(device.as_deref().unwrap_or("cpu"))?;

    let mut outcomes = Vec::new();
    for &check in checks {
        for case in check.cases(dumps)? {
            let mut kept = Vec::new();
            for variant in &chosen {
                outcomes.extend(run_and_keep(variant, check, &case, &mut kept));
            }
            if let Some(pages) = pages.as_mut().filter(|_| Pages::shows(check)) {
                pages.write(check, &case, &kept, dumps)?;
            }
        }
    }
    let report = Report::new(device, outcomes);
    console.line(table(&report).to_string().trim_end())?;
    if let Some(path) = &arguments.json {
        write_json(path, &report)?;
    }
    if let Some(pages) = pages {
        console.line(&format!("pages written: {}", host::shown(&pages.finish()?)))?;
    }
    console.finish()?;
    Ok(report.agrees())
}
