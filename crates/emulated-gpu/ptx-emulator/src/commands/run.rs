//! `run FILE`: runs a kernel and shows what it did to its buffers.

use std::fmt::Write;

use super::launch::{self, Left, Prepared};
use super::{DONE, FAILED, Failure, Setting, Told};
use crate::fault::Fault;
use crate::statistics::Statistics;

/// What `run` is told.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "cli", derive(clap::Args))]
pub struct Arguments {
    /// The launch.
    #[cfg_attr(feature = "cli", command(flatten))]
    pub launch: launch::Arguments,
    /// How many elements of a buffer to show.
    #[cfg_attr(feature = "cli", arg(long, value_name = "N", default_value_t = 8))]
    pub show: usize,
}

/// Runs the kernel, and shows what came of it.
///
/// # Errors
/// When the launch can't be made.
pub(super) fn run(
    arguments: &Arguments,
    setting: &Setting<'_>,
    told: &mut Told,
) -> Result<u8, Failure> {
    let prepared = arguments.launch.prepare(setting, setting.options.clone(), told)?;
    let outcome = prepared.emulator.launch(&prepared.kernel, &prepared.launch);
    show(arguments, &prepared, &outcome, told)
}

/// Shows the buffers that a launch changed, and what it counted; or what stopped it, which decides the
/// exit code.
///
/// # Errors
/// When there is no room for the buffers.
pub fn show(
    arguments: &Arguments,
    prepared: &Prepared,
    outcome: &Result<Statistics, Fault>,
    told: &mut Told,
) -> Result<u8, Failure> {
    let statistics = match outcome {
        Ok(statistics) => statistics,
        Err(fault) => {
            told.complain(format_args!("error: {fault}"));
            return Ok(FAILED);
        }
    };
    let mut text = String::new();
    for Left { place, element, bytes, changed } in prepared.buffers()? {
        let verb = if changed { "is now" } else { "is as before" };
        let list = element.list(&bytes, arguments.show);
        let _ = writeln!(text, "{place} ({}) {verb}{list}", element.name());
    }
    let _ = writeln!(
        text,
        "{}: {} blocks, {} warps, {} warp instructions, {} thread instructions",
        prepared.kernel.name(),
        statistics.blocks,
        statistics.warps,
        statistics.warp_instructions,
        statistics.thread_instructions
    );
    told.print(text);
    Ok(DONE)
}
