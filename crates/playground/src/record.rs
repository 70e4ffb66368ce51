//! Recording of a launch, step by step, for a page that shows its warps.

use ptx_emulator::commands::{Command, CommandOutput};
use ptx_emulator::record::{AccessKind, Record, RecordedStep, Waits};
use serde_json::{Value, json};

use crate::cuda_c_lines::{Origin, lines};
use crate::exchange::{self, Files, with_files};
use crate::fault_sentence::sentence;
use crate::words::parse;

/// Maximum number of recorded steps.
pub(crate) const MAX_STEPS: usize = 20_000;

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
    let origin = Origin::of(&arguments, &files);
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
        let fault = outcome
            .err()
            .map(|fault| exchange::fault(&fault, sentence(&fault, &prepared, origin.as_ref())));
        let launch = &prepared.launch;
        let head = head(prepared.kernel.name(), [launch.grid, launch.block, block], fault);
        Ok(with_steps(head, &prepared.source, &record, origin.as_ref()))
    })
}

/// Records a block of an attempt at a puzzle, in the launch of one of its sizes.
pub(crate) fn record_attempt(
    puzzle: &str,
    language: puzzles::Language,
    text: &str,
    (size, block): (usize, [u32; 3]),
) -> Result<Value, String> {
    let puzzle = puzzles::puzzle(puzzle).ok_or_else(|| format!("unknown puzzle {puzzle:?}"))?;
    let recording = puzzles::record(puzzle, language, text, (size, block), MAX_STEPS)?;
    let origin = (language == puzzles::Language::CudaC)
        .then(|| Origin::compiled(text, Vec::new()))
        .flatten();
    let fault = recording.fault.map(|(fault, what)| exchange::fault(&fault, Some(what)));
    let head = head(&recording.kernel, [recording.grid, recording.block, block], fault);
    Ok(with_steps(head, &recording.source, &recording.record, origin.as_ref()))
}

/// A launch without its steps, for a page: the kernel, the shapes of the grid and of a block, the recorded block,
/// and the fault.
pub(crate) fn head(kernel: &str, [grid, block, at]: [[u32; 3]; 3], fault: Option<Value>) -> Value {
    json!({ "kernel": kernel, "grid": grid, "block": block, "at": at, "fault": fault })
}

/// Adds the text, the registers and the steps of a record.
pub(crate) fn with_steps(
    mut head: Value,
    source: &str,
    record: &Record,
    origin: Option<&Origin>,
) -> Value {
    let registers = record.registers.iter().map(|register| {
        let variable = origin.and_then(|own| own.variable(&register.function, &register.name));
        json!({
            "function": register.function,
            "name": register.name,
            "type": register.ty,
            "variable": variable,
        })
    });
    head["source"] = source.into();
    head["cudaC"] = origin.map(|own| json!({ "text": own.text, "lines": lines(source) })).into();
    head["registers"] = registers.collect::<Vec<_>>().into();
    head["steps"] = record.steps.iter().map(|one| step(one, origin)).collect::<Vec<_>>().into();
    head["leftOut"] = record.left_out.into();
    head
}

/// A step of a warp. The keys are short, because a record can have thousands of steps.
fn step(step: &RecordedStep, origin: Option<&Origin>) -> Value {
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
            "place": origin.map_or_else(
                || access.place.clone(),
                |own| own.place(&step.function, &access.place),
            ),
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
