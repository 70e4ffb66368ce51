//! `run FILE`: runs a kernel and prints its buffers.

use std::fmt::Write;

use super::launch::{self, BufferAfter, Prepared};
use super::{CommandOutput, DONE, Environment, FAILED, Failure};
use crate::fault::Fault;
use crate::statistics::Statistics;

/// The arguments of `run`.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "cli", derive(clap::Args))]
pub struct Arguments {
    /// The launch.
    #[cfg_attr(feature = "cli", command(flatten))]
    pub launch: launch::Arguments,
    /// Maximum number of elements to show of each buffer
    #[cfg_attr(feature = "cli", arg(long, value_name = "N", default_value_t = 8))]
    pub show: usize,
}

/// Runs the kernel, and prints the buffers that it changed.
///
/// # Errors
/// If the kernel can't be launched.
pub(super) fn run(
    arguments: &Arguments,
    environment: &Environment<'_>,
    output: &mut CommandOutput,
) -> Result<u8, Failure> {
    let prepared = arguments.launch.prepare(environment, environment.options.clone(), output)?;
    let outcome = prepared.emulator.launch(&prepared.kernel, &prepared.launch);
    show(arguments, &prepared, &outcome, output)
}

/// Prints the buffers that a launch changed and its counts, or the fault that stopped it. Returns the exit
/// code.
///
/// # Errors
/// If the host is out of memory.
pub fn show(
    arguments: &Arguments,
    prepared: &Prepared,
    outcome: &Result<Statistics, Fault>,
    output: &mut CommandOutput,
) -> Result<u8, Failure> {
    let statistics = match outcome {
        Ok(statistics) => statistics,
        Err(fault) => {
            output.complain(format_args!("error: {fault}"));
            return Ok(FAILED);
        }
    };
    let mut text = String::new();
    for BufferAfter { role, element, bytes, changed } in prepared.buffers()? {
        let verb = if changed { "is now" } else { "is as before" };
        let list = element.list(&bytes, arguments.show);
        let _ = writeln!(text, "{role} ({}) {verb}{list}", element.name());
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
    output.print(text);
    Ok(DONE)
}
