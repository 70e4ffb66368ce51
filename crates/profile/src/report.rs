//! What is written of a profile at the end.

use std::path::{Path, PathBuf};

use gpu::{Gpu, Profiler};
use host::file::{check_writable, write_atomically};

use crate::{Card, ProfileError, Recording, Result, roofline};

/// A profiler, and the files that are written at the end.
#[derive(Clone, Default)]
pub struct Profile {
    /// What writes down.
    pub profiler: Profiler,
    recording: Option<Recording>,
    trace: Option<PathBuf>,
    roofline: Option<(PathBuf, Card)>,
}

impl Recording {
    /// A profile that records here and writes no files.
    #[must_use]
    pub fn profile(&self) -> Profile {
        Profile { profiler: self.profiler(), ..Profile::default() }
    }
}

impl Profile {
    /// One that writes a trace to this file; without one, nothing is written down.
    ///
    /// # Errors
    /// When the file can't be written.
    pub fn new(gpu: &Gpu, trace: Option<&Path>) -> Result<Self> {
        Self::with_roofline(gpu, trace, None)
    }

    /// One that writes a trace, or draws the kernels under the roof of a card, or both.
    ///
    /// # Errors
    /// When a file can't be written, and when a roofline is asked of a real GPU, which counts nothing.
    pub fn with_roofline(
        gpu: &Gpu,
        trace: Option<&Path>,
        roofline: Option<(&Path, Card)>,
    ) -> Result<Self> {
        if roofline.is_some() && !gpu.is_emulated() {
            return Err(ProfileError::NoCounts { device: gpu.device().to_owned() });
        }
        for path in trace.into_iter().chain(roofline.map(|(path, _)| path)) {
            check_writable(path).map_err(|error| unwritten(path, &error))?;
        }
        if trace.is_none() && roofline.is_none() {
            return Ok(Self::default());
        }
        let recording = Recording::start(gpu);
        Ok(Self {
            profiler: recording.profiler(),
            recording: Some(recording),
            trace: trace.map(Into::into),
            roofline: roofline.map(|(path, card)| (path.into(), card)),
        })
    }

    /// Writes the files, and returns the table, a line each; nothing without a file.
    ///
    /// # Errors
    /// What the driver or the operating system says.
    pub fn report(&self) -> Result<Vec<String>> {
        let Some(recording) = &self.recording else { return Ok(Vec::new()) };
        let mut lines = recording.table()?;
        if let Some(path) = &self.trace {
            recording.write_trace(path)?;
            lines.push(format!("trace written to {}", host::shown(path)));
        }
        if let Some((path, card)) = &self.roofline {
            let mut points = Vec::new();
            for (total, counts) in recording.counted()? {
                match roofline::Point::new(total.name, &counts, total.bytes as u64) {
                    Ok(point) => points.push(point),
                    Err(outside) => {
                        lines.push(format!(
                            "not in the roofline: {} {}",
                            total.name,
                            outside.why()
                        ));
                    }
                }
            }
            let svg = roofline::svg(*card, &points).map_err(ProfileError::Drawing)?;
            write_atomically(path, |file| file.write_all(svg.as_bytes()))
                .map_err(|error: std::io::Error| unwritten(path, &error))?;
            lines.push(format!("roofline of an {} written to {}", card.name(), host::shown(path)));
        }
        Ok(lines)
    }
}

fn unwritten(path: &Path, error: &std::io::Error) -> ProfileError {
    ProfileError::Write { path: path.into(), reason: error.to_string() }
}
