//! The trace of a profile in Chrome's format, which Perfetto also reads.

use std::io;
use std::path::Path;

use gpu::ActivityKind;
use host::file::write_atomically;
use serde_json::json;

use crate::totals::Span;
use crate::{ProfileError, Result};

const TRACKS: [(ActivityKind, &str); 3] = [
    (ActivityKind::Kernel, "kernels"),
    (ActivityKind::Copy, "copies"),
    (ActivityKind::Collective, "collectives"),
];

/// Writes the trace: kernels on one track, copies on another, collectives on a third.
///
/// # Errors
/// [`ProfileError::Write`] if the file can't be written.
pub(crate) fn write(path: &Path, device: &str, emulated: bool, spans: &[Span]) -> Result<()> {
    let used = |kind| spans.iter().any(|span| span.kind == kind);
    let tracks = TRACKS.iter().filter(|(kind, _)| *kind != ActivityKind::Collective || used(*kind));
    let tracks = tracks.map(|(kind, name)| {
        let track = track(*kind);
        json!({"ph": "M", "name": "thread_name", "pid": 1, "tid": track, "args": {"name": name}})
    });
    let process = json!({"ph": "M", "name": "process_name", "pid": 1, "args": {"name": device}});
    let events = spans.iter().map(|span| {
        json!({
            "ph": "X",
            "name": span.work.operation,
            "cat": match span.kind {
                ActivityKind::Kernel => "kernel",
                ActivityKind::Copy => "copy",
                ActivityKind::Collective => "collective",
            },
            "pid": 1,
            "tid": track(span.kind),
            "ts": 1e6 * span.start.as_secs_f64(),
            "dur": 1e6 * span.time.as_secs_f64(),
            "args": {"bytes": span.work.bytes, "flops": span.work.flops},
        })
    });
    let events: Vec<_> = [process].into_iter().chain(tracks).chain(events).collect();
    let times = if emulated {
        "of the emulation on this machine's processor, not of a GPU"
    } else {
        "of the GPU"
    };
    let trace = json!({
        "traceEvents": events,
        "displayTimeUnit": "ns",
        "otherData": {"device": device, "times": times},
    });
    write_atomically::<io::Error>(path, |file| {
        serde_json::to_writer(&mut *file, &trace)?;
        file.write_all(b"\n")
    })
    .map_err(|error| ProfileError::Write { path: path.into(), reason: error.to_string() })
}

/// The number of the track for a kind of activity, counted from 1.
fn track(kind: ActivityKind) -> usize {
    1 + TRACKS.iter().position(|(other, _)| *other == kind).unwrap_or(0)
}
