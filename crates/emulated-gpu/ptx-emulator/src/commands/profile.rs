//! `profile FILE`: runs a kernel and prints its PTX with the cost of each line.

use std::collections::HashMap;
use std::fmt::Write;

use super::launch::{self, Prepared};
use super::{CommandOutput, DONE, Environment, FAILED, Failure};
use crate::RunOptions;
use crate::fault::Fault;
use crate::statistics::{LineStatistics, Statistics};

/// The arguments of `profile`.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "cli", derive(clap::Args))]
pub struct Arguments {
    /// The launch.
    #[cfg_attr(feature = "cli", command(flatten))]
    pub launch: launch::Arguments,
    /// Leave out the lines that were not executed
    #[cfg_attr(feature = "cli", arg(long))]
    pub executed: bool,
}

/// Runs the kernel, and prints its PTX with the cost of each line.
///
/// # Errors
/// If the kernel can't be launched.
pub(super) fn run(
    arguments: &Arguments,
    environment: &Environment<'_>,
    output: &mut CommandOutput,
) -> Result<u8, Failure> {
    let options = RunOptions { statistics: true, ..environment.options.clone() };
    let prepared = arguments.launch.prepare(environment, options, output)?;
    let outcome = prepared.emulator.launch(&prepared.kernel, &prepared.launch);
    Ok(show(arguments, &prepared, &outcome, output))
}

/// Prints the PTX of a launch with its counts, or the fault that stopped it. Returns the exit code.
pub fn show(
    arguments: &Arguments,
    prepared: &Prepared,
    outcome: &Result<Statistics, Fault>,
    output: &mut CommandOutput,
) -> u8 {
    let statistics = match outcome {
        Ok(statistics) => statistics,
        Err(fault) => {
            output.complain(format_args!("error: {fault}"));
            return FAILED;
        }
    };
    let mut lines: HashMap<usize, LineStatistics> = HashMap::new();
    for count in &statistics.lines {
        // A line may have several instructions.
        lines.entry(count.line).or_default().add(count);
    }
    let mut text = format!(
        "{}: {} warp instructions, {} thread instructions\n\
         executed  lanes  diverged  sectors  passes\n",
        prepared.kernel.name(),
        statistics.warp_instructions,
        statistics.thread_instructions
    );
    for (index, source) in prepared.source.lines().enumerate() {
        match lines.get(&(index + 1)).filter(|count| count.executions > 0) {
            Some(count) => {
                let _ = writeln!(text, "{}  {source}", columns(count));
            }
            None if arguments.executed => {}
            None => {
                let _ = writeln!(text, "{:41}  {source}", "");
            }
        }
    }
    text.push_str(
        "executed: by warps. lanes: active ones, mean of 32. diverged: while other lanes of the \
         warp were\nelsewhere. sectors: of 32 bytes, for each access of a warp to global memory (4 \
         for 32 words in a row).\npasses: for each access to shared memory (1 without a bank \
         conflict).\n",
    );
    output.print(text);
    DONE
}

/// The columns of one line. A column that doesn't apply is blank.
fn columns(count: &LineStatistics) -> String {
    let ratio = |part: u64, whole: u64| match whole {
        0 => String::new(),
        whole => format!("{:.1}", part as f64 / whole as f64),
    };
    let diverged = match count.divergent {
        0 => String::new(),
        some => format!("{:.0} %", 100.0 * some as f64 / count.executions as f64),
    };
    format!(
        "{:>8}  {:>5}  {diverged:>8}  {:>7}  {:>6}",
        count.executions,
        ratio(count.active_lanes, count.executions),
        ratio(count.global_sectors, count.global_requests),
        ratio(count.shared_passes, count.shared_requests),
    )
}
