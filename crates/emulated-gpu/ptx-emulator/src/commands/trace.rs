//! `trace FILE`: runs a kernel and prints what one of its threads did, instruction by instruction.

use std::fmt::Write;

use super::launch::{LaunchIndex, without_rest};
use super::{CommandOutput, DONE, Environment, FAILED, Failure, launch};
use crate::{Launch, RunOptions};

/// The arguments of `trace`.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "cli", derive(clap::Args))]
pub struct Arguments {
    /// The launch.
    #[cfg_attr(feature = "cli", command(flatten))]
    pub launch: launch::Arguments,
    /// The thread to follow, by its position in the block: X, X,Y or X,Y,Z
    #[cfg_attr(feature = "cli", arg(long, value_name = "INDEX", default_value = "0"))]
    pub thread: LaunchIndex,
    /// The block that the thread is in, by its position in the grid
    #[cfg_attr(feature = "cli", arg(long, value_name = "INDEX", default_value = "0"))]
    pub in_block: LaunchIndex,
    /// Maximum number of instructions to show
    #[cfg_attr(feature = "cli", arg(long, value_name = "N", default_value_t = 200))]
    pub lines: usize,
}

/// Runs the kernel, block by block, and prints what the thread did: the line in the PTX, the instruction, the
/// values that it read, and after the arrow the values that it wrote or the branch that it took.
///
/// # Errors
/// If the kernel can't be launched. A fault that stops the kernel is printed after the trace up to that point,
/// and decides the exit code.
pub(super) fn run(
    arguments: &Arguments,
    environment: &Environment<'_>,
    output: &mut CommandOutput,
) -> Result<u8, Failure> {
    let options = RunOptions { deterministic: true, ..environment.options.clone() };
    let prepared = arguments.launch.prepare(environment, options, output)?;
    let (block, thread) = (arguments.in_block.0, arguments.thread.0);
    let Launch { grid, block: block_shape, .. } = prepared.launch;
    for (part, index, whole, shape) in
        [("block", block, "grid", grid), ("thread", thread, "block", block_shape)]
    {
        if index.iter().zip(shape).any(|(&index, length)| index >= length) {
            let (index, shape) = (without_rest(index, 0), without_rest(shape, 1));
            return Err(Failure::Usage(format!(
                "{part} {index} is outside the {whole} of {shape}"
            )));
        }
    }
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
    output.print(text);
    match outcome {
        Ok(_) => Ok(DONE),
        Err(fault) => {
            output.complain(format_args!("error: {fault}"));
            Ok(FAILED)
        }
    }
}
