//! A command line, carried out: the text that a terminal shows, and the same as data.

use ptx_emulator::commands::argument::Element;
use ptx_emulator::commands::launch::{BufferAfter, Prepared};
use ptx_emulator::commands::{Command, CommandOutput, Failure, launch, profile, run};
use ptx_emulator::fault::Fault;
use ptx_emulator::{Options, Statistics};
use serde_json::{Value, json};

use crate::told::{self, Files, Printed, with_files};
use crate::words::parse;

/// Elements of a buffer that are given to the page.
const MOST_ELEMENTS: usize = 1 << 14;

/// Carries out a command: `{"text": …, "code": …}`, and what was launched, where something was:
/// `"buffers"`, `"counts"` for each line where they were asked for, and `"fault"`.
pub(crate) fn command(line: &str, files: Files) -> Result<Value, String> {
    let command = parse(line)?;
    let printed = Printed::default();
    let mut answer = with_files(files, printed.options(), |setting| match &command {
        Command::Run(arguments) => {
            launched(&arguments.launch, setting, &setting.options, |prepared, outcome, told| {
                run::show(arguments, prepared, outcome, told)
            })
        }
        Command::Profile(arguments) => {
            let options = Options { statistics: true, ..setting.options.clone() };
            launched(&arguments.launch, setting, &options, |prepared, outcome, told| {
                Ok(profile::show(arguments, prepared, outcome, told))
            })
        }
        Command::Check(_) | Command::Trace(_) => {
            let told = command.execute(setting);
            json!({ "text": told.to_string(), "code": told.code })
        }
    });
    // What the kernel printed came first.
    let printed = printed.text();
    if !printed.is_empty() {
        let own = answer["text"].as_str().unwrap_or_default();
        answer["text"] = format!("{printed}{own}").into();
    }
    Ok(answer)
}

/// Launches, and lets the command say what came of it.
fn launched(
    arguments: &launch::Arguments,
    setting: &ptx_emulator::commands::Environment<'_>,
    options: &Options,
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
                    answer["counts"] = counts(&statistics);
                    answer["threadInstructions"] = statistics.thread_instructions.into();
                }
                Err(fault) => answer["fault"] = told::fault(&fault),
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
        Failure::Program(found) => found.iter().map(told::ptx_diagnostic).collect(),
        Failure::Compile(found) => found.iter().map(told::cuda_diagnostic).collect(),
        _ => return,
    };
    answer["diagnostics"] = list.into();
}

/// The buffers as they are now: those of the arguments, in their order, then those that have names.
/// Elements are numbers; what JSON has no number for is a word.
fn buffers(prepared: &Prepared) -> Value {
    let Ok(left) = prepared.buffers() else { return Value::Null };
    let shown = left.iter().map(|BufferAfter { role: place, element, bytes, changed }| {
        let each = bytes.chunks_exact(element.bytes()).take(MOST_ELEMENTS);
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
    // Whole numbers of more than 53 bits would lose their last digits in the page.
    let exact = |number: &f64| number.is_finite() && number.abs() <= 2_f64.powi(53);
    match text.parse::<f64>().ok().filter(exact) {
        Some(number) => json!(number),
        None => json!(text),
    }
}

/// What each line cost, where it was counted.
fn counts(statistics: &Statistics) -> Value {
    let list: Vec<Value> = statistics
        .lines
        .iter()
        .map(|count| {
            json!({
                "line": count.line,
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
