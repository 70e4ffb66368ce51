//! The program `training`, which compares the reports of several training runs.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, ValueHint};
use training::{Error, Result, report_page};

/// Compare the reports of training runs on an HTML page.
///
/// `train --json FILE` of a level or of the gold standard in Python writes a report.
#[derive(Parser)]
#[command(name = "training", version)]
struct Arguments {
    /// The reports.
    #[arg(value_name = "REPORT", required = true, value_hint = ValueHint::FilePath)]
    reports: Vec<PathBuf>,
    /// Write a self-contained HTML page to FILE.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, required_unless_present = "svg")]
    html: Option<PathBuf>,
    /// Write a picture of the accuracy against seconds to FILE.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    svg: Option<PathBuf>,
}

fn main() -> ExitCode {
    host::main(|| match host::parse(|command| command).map(|arguments| write(&arguments)) {
        Ok(Ok(())) => ExitCode::SUCCESS,
        Ok(Err(error)) => error.report(),
        Err(code) => code,
    })
}

fn write(arguments: &Arguments) -> Result<()> {
    let Arguments { reports, html, svg } = arguments;
    for (option, out) in [("--html", html), ("--svg", svg)] {
        let Some(out) = out else { continue };
        if reports.iter().any(|report| host::file::is_same(report, out)) {
            return Err(Error::Usage(format!(
                "{option} would overwrite the report {}: name another file",
                host::shown(out)
            )));
        }
    }
    if let (Some(html), Some(svg)) = (html, svg)
        && (html == svg || host::file::is_same(html, svg))
    {
        return Err(Error::Usage("--html and --svg name the same file".into()));
    }
    let curves = reports.iter().map(|path| report_page::read(path)).collect::<Result<Vec<_>>>()?;
    if let Some(html) = html {
        report_page::write_all(html, &curves)?;
    }
    svg.iter().try_for_each(|svg| report_page::write_picture(svg, &curves))
}
