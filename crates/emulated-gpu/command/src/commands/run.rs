//! `run FILE`: runs a kernel and shows what it did to its buffers.

use std::fmt::Write;

use clap::Args;
use ptx_emulator::Options;

use super::argument::Argument;
use super::{DONE, FAILED, Failure, launch, print};

/// What `run` is told.
#[derive(Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    launch: launch::Arguments,
    /// How many elements of a buffer to show.
    #[arg(long, value_name = "N", default_value_t = 8)]
    show: usize,
}

/// Runs the kernel, shows the buffers that it changed, and what it counted.
///
/// # Errors
/// When the launch can't be made, or standard output can't be written. What stops the kernel is
/// reported, and decides the exit code.
pub(crate) fn run(arguments: &Arguments) -> Result<u8, Failure> {
    let prepared = arguments.launch.prepare(Options::default())?;
    let statistics = match prepared.emulator.launch(&prepared.kernel, &prepared.launch) {
        Ok(statistics) => statistics,
        Err(fault) => {
            host::complain(format_args!("error: {fault}"));
            return Ok(FAILED);
        }
    };
    let mut text = String::new();
    for (index, (argument, after)) in
        arguments.launch.arguments.iter().zip(&prepared.buffers()?).enumerate()
    {
        let (Argument::Buffer { element, bytes }, Some(after)) = (argument, after) else {
            continue;
        };
        let verb = if bytes == after { "is as before" } else { "is now" };
        let list = element.list(after, arguments.show);
        let _ = writeln!(text, "argument {index} ({}) {verb}{list}", element.name());
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
    print(&text)?;
    Ok(DONE)
}
