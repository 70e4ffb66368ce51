//! Data exchanged with a page: files, output of kernels, diagnostics and faults.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use ptx_emulator::commands::{Environment, Failure};
use ptx_emulator::fault::Fault;
use ptx_emulator::source::Source;
use ptx_emulator::{Diagnostic, Options, Output};
use serde_json::{Value, json};

use crate::DEVICE_MEMORY;

/// Texts of files, by name.
pub(crate) type Files = BTreeMap<String, String>;

/// Maximum number of bytes that a kernel can print; the rest is dropped.
const MAX_PRINTED: usize = 1 << 20;

/// Collects the output of kernels.
#[derive(Clone, Default)]
pub(crate) struct Printed(Arc<Mutex<Kept>>);

#[derive(Default)]
struct Kept {
    bytes: Vec<u8>,
    left_out: bool,
}

impl Write for Kept {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let room = MAX_PRINTED.saturating_sub(self.bytes.len());
        self.bytes.extend_from_slice(&bytes[..bytes.len().min(room)]);
        self.left_out |= bytes.len() > room;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Printed {
    /// Options of a device whose kernels print here.
    pub(crate) fn options(&self) -> Options {
        Options {
            threads: 1,
            deterministic: true,
            memory: Some(DEVICE_MEMORY),
            output: Output::to(self.0.clone()),
            ..Options::default()
        }
    }

    pub(crate) fn text(&self) -> String {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut text = String::from_utf8_lossy(&kept.bytes).into_owned();
        if kept.left_out {
            text.push_str("\n… the rest of the output is left out\n");
        }
        text
    }
}

/// Calls `f` with a setting in which commands read these files.
pub(crate) fn with_files<T>(
    files: Files,
    options: Options,
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

/// A diagnostic of PTX as JSON.
pub(crate) fn ptx_diagnostic(found: &Diagnostic) -> Value {
    json!({
        "severity": "error",
        "message": found.message,
        "line": found.line,
        "column": found.column,
        "width": found.width,
        "label": found.label,
        "help": found.help,
    })
}

/// A diagnostic of CUDA C as JSON.
pub(crate) fn cuda_diagnostic(found: &cuda_c::Diagnostic) -> Value {
    let error = found.severity == cuda_c::Severity::Error;
    json!({
        "severity": if error { "error" } else { "warning" },
        "message": found.message,
        "line": found.line,
        "column": found.column,
        "width": found.width,
        "label": found.label,
        "help": found.help,
    })
}

/// A fault of a kernel as JSON.
pub(crate) fn fault(fault: &Fault) -> Value {
    let place = fault.place.as_ref();
    let other = fault.other.as_ref();
    json!({
        "kind": fault.kind.to_string(),
        "message": fault.message,
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
