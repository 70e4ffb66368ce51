//! Recording of a launch, step by step, for a page that shows its warps.

use ptx_emulator::commands::{Command, CommandOutput, launch};
use ptx_emulator::record::{AccessKind, RecordedStep, Waits};
use serde_json::{Value, json};

use crate::exchange::{self, Files, with_files};
use crate::words::parse;

/// Maximum number of recorded steps.
const MAX_STEPS: usize = 20_000;

/// Records the launch of a command line.
pub(crate) fn record(
    line: &str,
    files: Files,
    block: [u32; 3],
    most: usize,
) -> Result<Value, String> {
    let arguments = match parse(line)? {
        Command::Run(run) => run.launch,
        Command::Trace(trace) => trace.launch,
        Command::Profile(profile) => profile.launch,
        Command::Check(_) => {
            return Err("check launches nothing: use run, trace or profile".to_owned());
        }
    };
    let printed = exchange::printed();
    with_files(files, exchange::options(&printed), |setting| {
        let mut told = CommandOutput::default();
        let prepared = arguments
            .prepare(setting, setting.options.clone(), &mut told)
            .map_err(|failure| failure.to_string())?;
        let (record, outcome) = prepared
            .emulator
            .record(&prepared.kernel, &prepared.launch, block, most.min(MAX_STEPS))
            .map_err(|fault| fault.to_string())?;
        let registers = record.registers.iter().map(|register| {
            json!({ "function": register.function, "name": register.name, "type": register.ty })
        });
        Ok(json!({
            "kernel": prepared.kernel.name(),
            "source": prepared.source,
            "grid": prepared.launch.grid,
            "block": prepared.launch.block,
            "at": block,
            "registers": registers.collect::<Vec<_>>(),
            "steps": record.steps.iter().map(step).collect::<Vec<_>>(),
            "leftOut": record.left_out,
            "fault": outcome.err().map(|fault| exchange::fault(&fault)),
            "launch": shape(&arguments),
        }))
    })
}

fn shape(arguments: &launch::Arguments) -> Value {
    json!({ "grid": arguments.grid.0, "block": arguments.block.0 })
}

/// A step of a warp. The keys are short, because a record can have thousands of steps.
fn step(step: &RecordedStep) -> Value {
    let others = step.others.iter().map(|other| {
        let waits = match other.waits {
            Waits::Turn => json!("turn"),
            Waits::Barrier(number) => json!({ "barrier": number }),
            Waits::Lanes => json!("lanes"),
        };
        json!({ "line": other.line, "mask": other.mask, "waits": waits })
    });
    let accesses = step.accesses.iter().map(|access| {
        json!({
            "space": if access.shared { "shared" } else { "global" },
            "kind": match access.kind {
                AccessKind::Load => "load",
                AccessKind::Store => "store",
                AccessKind::Atomic => "atomic",
            },
            "bytes": access.bytes,
            "place": access.place,
            "skew": access.skew,
            "offsets": access.offsets,
        })
    });
    let written = step.written.iter().map(|written| {
        let all_the_same = written.values.windows(2).all(|pair| pair[0] == pair[1]);
        let values = if all_the_same { &written.values[..1] } else { &written.values[..] };
        json!([written.register, written.lanes, values])
    });
    json!({
        "warp": step.warp,
        "function": step.function,
        "line": step.line,
        "text": step.text,
        "mask": step.mask,
        "active": step.active,
        "alive": step.alive,
        "others": others.collect::<Vec<_>>(),
        "barrier": step.barrier,
        "accesses": accesses.collect::<Vec<_>>(),
        "written": written.collect::<Vec<_>>(),
    })
}
