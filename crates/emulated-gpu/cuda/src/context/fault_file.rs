//! The file that `EMULATED_GPU_FAULTS` names: a line of JSON for each fault that made a context unusable, for test
//! runners and CI services. The README describes its fields.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;

use ptx_emulator::Fault;
use ptx_emulator::fault::PtxPlace;
use serde_json::{Value, json};

use crate::abi::ffi::report;

/// Adds the fault of a kernel.
pub(crate) fn add_fault(file: Option<&Path>, fault: &Fault) {
    let place = |place: &PtxPlace| json!({"file": place.file, "line": place.line, "column": place.column, "text": place.text});
    let cuda = |cuda: &Option<(String, u32)>| {
        cuda.as_ref().map(|(file, line)| json!({"file": file, "line": line}))
    };
    let other = fault.other.as_ref().map(|other| {
        json!({
            "block": other.block, "thread": other.thread, "wrote": other.wrote,
            "ptx": place(&other.place), "cuda": cuda(&other.cuda),
        })
    });
    add(
        file,
        &json!({
            "kind": fault.kind.to_string(), "message": fault.message, "kernel": fault.kernel,
            "block": fault.block, "thread": fault.thread, "address": fault.address,
            "ptx": fault.place.as_ref().map(place), "cuda": cuda(&fault.cuda), "other": other,
            "notes": fault.notes, "report": fault.to_string(),
        }),
    );
}

/// Adds the failure of a copy or of a host library, which has only a text. Its first line is the kind of fault.
pub(crate) fn add_failure(file: Option<&Path>, why: &str) {
    let kind = why.lines().next().unwrap_or_default();
    add(file, &json!({"kind": kind, "message": why, "report": why}));
}

fn add(file: Option<&Path>, record: &Value) {
    let Some(path) = file else { return };
    // One write, so that several processes can use the same file.
    let line = format!("{record}\n");
    let written = OpenOptions::new().append(true).create(true).open(path);
    if let Err(error) = written.and_then(|mut file| file.write_all(line.as_bytes())) {
        report(&format!("EMULATED_GPU_FAULTS: {}: {error}", path.display()));
    }
}
