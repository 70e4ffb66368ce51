//! The outputs of a profile at the end of a command.

use std::path::{Path, PathBuf};

use gpu::{Gpu, Profiler};
use host::file::{check_writable, write_atomically};

use crate::{Card, ProfileError, Recording, Result, roofline};

/// A profiler, with the files that are written from its records at the end.
#[derive(Clone, Default)]
pub struct Profile {
    /// The profiler to which a level reports.
    pub profiler: Profiler,
    recording: Option<Recording>,
    trace: Option<PathBuf>,
    roofline: Option<(PathBuf, Card)>,
}

impl Recording {
    /// A profile that reports to this recording, and writes no files.
    #[must_use]
    pub fn profile(&self) -> Profile {
        Profile { profiler: self.profiler(), ..Profile::default() }
    }
}

impl Profile {
    /// A profile that writes a trace to this file; with `None`, nothing is recorded.
    ///
    /// # Errors
    /// [`ProfileError::Write`] if the file can't be written.
    pub fn new(gpu: &Gpu, trace: Option<&Path>) -> Result<Self> {
        Self::with_roofline(gpu, trace, None)
    }

    /// A profile that writes a trace, or draws the kernels in a card's roofline, or both.
    ///
    /// # Errors
    /// [`ProfileError::Write`] if a file can't be written; [`ProfileError::NoCounts`] if a roofline is requested
    /// on a real GPU.
    pub fn with_roofline(
        gpu: &Gpu,
        trace: Option<&Path>,
        roofline: Option<(&Path, Card)>,
    ) -> Result<Self> {
        if roofline.is_some() && !gpu.is_emulated() {
            return Err(ProfileError::NoCounts { device: gpu.device().to_owned() });
        }
        for path in trace.into_iter().chain(roofline.map(|(path, _)| path)) {
            check_writable(path).map_err(|error| write_error(path, &error))?;
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

    /// Writes the files, and returns the lines of the table. There are no lines if nothing was recorded.
    ///
    /// # Errors
    /// The driver's error; [`ProfileError::Write`] if a file can't be written.
    pub fn report(&self) -> Result<Vec<String>> {
        let Some(recording) = &self.recording else { return Ok(Vec::new()) };
        let mut lines = recording.table()?;
        if let Some(path) = &self.trace {
            recording.write_trace(path)?;
            lines.push(format!("trace written to {}", host::shown(path)));
        }
        if let Some((path, card)) = &self.roofline {
            let mut points = Vec::new();
            for (total, counts) in recording.operations_with_counts()? {
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
                .map_err(|error: std::io::Error| write_error(path, &error))?;
            lines.push(format!("roofline of an {} written to {}", card.name(), host::shown(path)));
        }
        Ok(lines)
    }
}

fn write_error(path: &Path, error: &std::io::Error) -> ProfileError {
    ProfileError::Write { path: path.into(), reason: error.to_string() }
}
