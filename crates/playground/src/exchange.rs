//! Data exchanged with a page: files, output of kernels, diagnostics and faults.

use std::collections::BTreeMap;
use std::path::Path;

use ptx_emulator::commands::{Environment, Failure};
use ptx_emulator::fault::Fault;
use ptx_emulator::source::Source;
use ptx_emulator::{Diagnostic, RunOptions};
use puzzles::Printed;
use serde_json::{Value, json};

use crate::DEVICE_MEMORY;

/// Texts of files, by name.
pub(crate) type Files = BTreeMap<String, String>;

/// Maximum number of bytes that a kernel can print; the rest is dropped.
const MAX_PRINTED: usize = 1 << 20;

/// A collector for the output of kernels.
pub(crate) fn printed() -> Printed {
    Printed::new(MAX_PRINTED)
}

/// Options of a page's device, whose kernels print to `printed`.
pub(crate) fn options(printed: &Printed) -> RunOptions {
    RunOptions {
        threads: 1,
        deterministic: true,
        memory: Some(DEVICE_MEMORY),
        output: printed.output(),
        ..RunOptions::default()
    }
}

/// Calls `f` with settings that make commands read these files.
pub(crate) fn with_files<T>(
    files: Files,
    options: RunOptions,
    f: impl FnOnce(&Environment<'_>) -> T,
) -> T {
    let read = |path: &Path| {
        let name = path.to_string_lossy().into_owned();
        match files.get(&name) {
            Some(text) => Ok(Source { name, text: text.clone() }),
            None => Err(Failure::Read { name, why: "this page does not have it".to_owned() }),
        }
    };
    f(&Environment { read: &read, options })
}

/// A diagnostic of either compiler as JSON.
macro_rules! diagnostic {
    ($severity:expr, $found:expr) => {
        json!({
            "severity": $severity,
            "message": $found.message,
            "line": $found.line,
            "column": $found.column,
            "width": $found.width,
            "label": $found.label,
            "help": $found.help,
        })
    };
}

/// A diagnostic of PTX as JSON.
pub(crate) fn ptx_diagnostic(found: &Diagnostic) -> Value {
    diagnostic!("error", found)
}

/// A diagnostic of CUDA C as JSON.
pub(crate) fn cuda_diagnostic(found: &cuda_c::Diagnostic) -> Value {
    let error = found.severity == cuda_c::Severity::Error;
    diagnostic!(if error { "error" } else { "warning" }, found)
}

/// A fault of a kernel as JSON; `sentence` describes it by names.
pub(crate) fn fault(fault: &Fault, sentence: Option<String>) -> Value {
    let place = fault.place.as_ref();
    let other = fault.other.as_ref();
    json!({
        "kind": fault.kind.to_string(),
        "message": fault.message,
        "sentence": sentence,
        "line": place.map(|place| place.line),
        "column": place.map(|place| place.column),
        "cudaLine": fault.cuda.as_ref().map(|(_, line)| line),
        "block": fault.block,
        "thread": fault.thread,
        "address": fault.address.map(|address| format!("{address:#x}")),
        "other": other.map(|other| json!({
            "line": other.place.line,
            "cudaLine": other.cuda.as_ref().map(|(_, line)| line),
            "block": other.block,
            "thread": other.thread,
            "wrote": other.wrote,
        })),
        "notes": fault.notes,
    })
}
