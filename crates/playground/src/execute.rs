//! Execution of a command line of `ptx-emulator`: the text that a terminal shows, and the same as data.

use ptx_emulator::commands::argument::Element;
use ptx_emulator::commands::launch::{BufferAfter, Prepared};
use ptx_emulator::commands::{Command, CommandOutput, Failure, launch, profile, run};
use ptx_emulator::fault::Fault;
use ptx_emulator::{RunOptions, Statistics};
use serde_json::{Value, json};

use crate::cuda_c_lines::{Origin, lines};
use crate::exchange::{self, Files, with_files};
use crate::fault_sentence::sentence;
use crate::words::parse;

/// Maximum number of elements of a buffer that the page gets.
const MAX_ELEMENTS: usize = 1 << 14;

/// Executes a command: `{"text": …, "code": …}`. After a launch there are also `"buffers"`, and `"counts"` for each instruction or
/// a `"fault"`.
pub(crate) fn command(line: &str, files: Files) -> Result<Value, String> {
    let command = parse(line)?;
    let arguments = match &command {
        Command::Run(run) => Some(&run.launch),
        Command::Profile(profile) => Some(&profile.launch),
        Command::Check(_) | Command::Trace(_) => None,
    };
    let origin = arguments.and_then(|arguments| Origin::of(arguments, &files));
    let printed = exchange::printed();
    let mut answer = with_files(files, exchange::options(&printed), |setting| match &command {
        Command::Run(arguments) => execute_launch(
            &arguments.launch,
            setting,
            (&setting.options, origin.as_ref()),
            |prepared, outcome, told| run::show(arguments, prepared, outcome, told),
        ),
        Command::Profile(arguments) => {
            let options = RunOptions { statistics: true, ..setting.options.clone() };
            execute_launch(
                &arguments.launch,
                setting,
                (&options, origin.as_ref()),
                |prepared, outcome, told| Ok(profile::show(arguments, prepared, outcome, told)),
            )
        }
        Command::Check(_) | Command::Trace(_) => {
            let told = command.execute(setting);
            json!({ "text": told.to_string(), "code": told.code })
        }
    });
    // Output of the kernel comes first.
    let printed = printed.text();
    if !printed.is_empty() {
        let own = answer["text"].as_str().unwrap_or_default();
        answer["text"] = format!("{printed}{own}").into();
    }
    Ok(answer)
}

/// Launches a kernel, and has the command print the result.
fn execute_launch(
    arguments: &launch::Arguments,
    setting: &ptx_emulator::commands::Environment<'_>,
    (options, origin): (&RunOptions, Option<&Origin>),
    show: impl FnOnce(&Prepared, &Result<Statistics, Fault>, &mut CommandOutput) -> Result<u8, Failure>,
) -> Value {
    let mut told = CommandOutput::default();
    let mut answer = json!({});
    match arguments.prepare(setting, options.clone(), &mut told) {
        Err(failure) => fail(&failure, &mut told, &mut answer),
        Ok(prepared) => {
            let outcome = prepared.emulator.launch(&prepared.kernel, &prepared.launch);
            match show(&prepared, &outcome, &mut told) {
                Ok(code) => told.code = code,
                Err(failure) => fail(&failure, &mut told, &mut answer),
            }
            answer["buffers"] = buffers(&prepared);
            match outcome {
                Ok(statistics) => {
                    answer["counts"] = counts(&statistics, origin.map(|_| lines(&prepared.source)));
                    answer["threadInstructions"] = statistics.thread_instructions.into();
                }
                Err(fault) => {
                    answer["fault"] = exchange::fault(&fault, sentence(&fault, &prepared, origin));
                }
            }
        }
    }
    answer["text"] = told.to_string().into();
    answer["code"] = told.code.into();
    answer
}

fn fail(failure: &Failure, told: &mut CommandOutput, answer: &mut Value) {
    told.complain(format_args!("error: {failure}"));
    told.code = failure.exit_code();
    let list: Vec<Value> = match failure {
        Failure::Program(found) => found.iter().map(exchange::ptx_diagnostic).collect(),
        Failure::Compile(found) => found.iter().map(exchange::cuda_diagnostic).collect(),
        _ => return,
    };
    answer["diagnostics"] = list.into();
}

/// The buffers after the launch: those of the arguments, in their order, then the named ones. Elements are numbers, or
/// strings if JSON can't represent them.
fn buffers(prepared: &Prepared) -> Value {
    let Ok(left) = prepared.buffers() else { return Value::Null };
    let shown = left.iter().map(|BufferAfter { role: place, element, bytes, changed }| {
        let each = bytes.chunks_exact(element.bytes()).take(MAX_ELEMENTS);
        let values: Vec<Value> = each.map(|one| number(*element, one)).collect();
        json!({
            "place": place.to_string(),
            "type": element.name(),
            "length": bytes.len() / element.bytes(),
            "changed": changed,
            "values": values,
        })
    });
    shown.collect::<Vec<_>>().into()
}

fn number(element: Element, bytes: &[u8]) -> Value {
    let text = element.list(bytes, 1);
    let text = text.trim();
    // Integers of more than 53 bits would lose their last digits in JavaScript.
    let exact = |number: &f64| number.is_finite() && number.abs() <= 2_f64.powi(53);
    match text.parse::<f64>().ok().filter(exact) {
        Some(number) => json!(number),
        None => json!(text),
    }
}

/// The counts of each instruction. `cuda_c` maps lines of the PTX to those of the CUDA C, which are counted instead.
fn counts(statistics: &Statistics, cuda_c: Option<Vec<u32>>) -> Value {
    let line = |ptx: usize| match &cuda_c {
        Some(lines) => ptx.checked_sub(1).and_then(|at| lines.get(at)).copied().unwrap_or(0),
        None => ptx as u32,
    };
    let list: Vec<Value> = statistics
        .lines
        .iter()
        .map(|count| {
            json!({
                "line": line(count.line),
                "executions": count.executions,
                "lanes": count.active_lanes,
                "divergent": count.divergent,
                "requests": count.global_requests,
                "sectors": count.global_sectors,
                "sharedRequests": count.shared_requests,
                "passes": count.shared_passes,
            })
        })
        .collect();
    list.into()
}
