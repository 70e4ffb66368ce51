//! `trace FILE`: runs a kernel and shows what one of its threads did, instruction by instruction.

use std::fmt::Write;

use super::launch::Index;
use super::{DONE, FAILED, Failure, Setting, Told, launch};
use crate::Options;

/// What `trace` is told.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "cli", derive(clap::Args))]
pub struct Arguments {
    /// The launch.
    #[cfg_attr(feature = "cli", command(flatten))]
    pub launch: launch::Arguments,
    /// The thread to follow, by its place in the block: X, X,Y or X,Y,Z.
    #[cfg_attr(feature = "cli", arg(long, value_name = "INDEX", default_value = "0"))]
    pub thread: Index,
    /// The block that it is in, by its place in the grid.
    #[cfg_attr(feature = "cli", arg(long, value_name = "INDEX", default_value = "0"))]
    pub in_block: Index,
    /// Show as many instructions at most.
    #[cfg_attr(feature = "cli", arg(long, value_name = "N", default_value_t = 200))]
    pub lines: usize,
}

/// Runs the kernel, in the order of its blocks, and prints what the thread did: the line in the
/// PTX, the instruction, what it read, and behind the arrow what it wrote and where it went.
///
/// # Errors
/// When the launch can't be made; what stops the kernel is
/// reported after what the thread did until then, and decides the exit code.
pub(super) fn run(
    arguments: &Arguments,
    setting: &Setting<'_>,
    told: &mut Told,
) -> Result<u8, Failure> {
    let options = Options { deterministic: true, ..setting.options.clone() };
    let prepared = arguments.launch.prepare(setting, options, told)?;
    let (block, thread) = (arguments.in_block.0, arguments.thread.0);
    let (trace, outcome) = prepared
        .emulator
        .trace(&prepared.kernel, &prepared.launch, (block, thread), arguments.lines)
        .map_err(|fault| Failure::Usage(fault.message.clone()))?;
    let place = |[x, y, z]: [u32; 3]| format!("({x}, {y}, {z})");
    let mut text = format!(
        "{}: block {}, thread {}, which is lane {} of warp {}\n{trace}",
        prepared.kernel.name(),
        place(block),
        place(thread),
        trace.lane,
        trace.warp,
    );
    if trace.left_out > 0 {
        let plural = if trace.left_out == 1 { "" } else { "s" };
        let _ = writeln!(
            text,
            "      … and {} more instruction{plural} of this thread: --lines {} shows them all",
            trace.left_out,
            trace.events.len() as u64 + trace.left_out
        );
    }
    told.print(text);
    match outcome {
        Ok(_) => Ok(DONE),
        Err(fault) => {
            told.complain(format_args!("error: {fault}"));
            Ok(FAILED)
        }
    }
}
