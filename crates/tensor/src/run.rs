//! Runs: files with the dumps of several consecutive training steps.
//!
//! A run's file is the concatenation of its dumps, as `cat` makes it, plain or gzipped. A dump of one step is also a
//! run.

use std::io::{self, Write};
use std::path::Path;

use host::Foreign;
use serde::de::IgnoredAny;

use crate::dump::packed::{unpacked, write_packed};
use crate::{Dump, DumpError, TensorName};

impl Dump {
    /// Reads the dumps of a file: a single dump, or the dumps of a run's steps.
    ///
    /// # Errors
    /// As [`Dump::read`] for each dump. Also if the dumps aren't consecutive steps of one run, by one level and of one
    /// network.
    pub fn read_run(path: &Path) -> Result<Vec<Self>, DumpError> {
        let run = documents(path)?;
        for (before, next) in run.iter().zip(&run[1..]) {
            follows(before, next)
                .map_err(|reason| DumpError::Content { path: path.to_owned(), reason })?;
        }
        let expected = run[0].header.steps;
        if expected.is_some_and(|steps| steps != run.len() as u64) {
            let reason = format!(
                "it holds {} steps of a run of {}: the others are missing",
                run.len(),
                expected.unwrap_or_default()
            );
            return Err(DumpError::Content { path: path.to_owned(), reason });
        }
        Ok(run)
    }

    /// Writes the dumps of a run, gzipped if the name ends in `.gz`, atomically: after an error, the old file is
    /// unchanged.
    ///
    /// # Errors
    /// As [`write_each`](Self::write_each).
    pub fn write_run(run: &[Self], path: &Path) -> Result<(), DumpError> {
        Self::write_each(path, |write| run.iter().try_for_each(write))
    }

    /// Writes the dumps of a run one by one, so that only one of them is in memory at a time. `make` passes each dump
    /// to the function that is its argument. The file is written as by [`write_run`](Self::write_run); if `make` fails,
    /// no file is written.
    ///
    /// # Errors
    /// The error that `make` returns; [`DumpError::Write`] if the file can't be written; [`DumpError::TooLong`] if
    /// there are several dumps, and they have more than [`MOST_BYTES`](Self::MOST_BYTES).
    pub fn write_each<E: From<DumpError>>(
        path: &Path,
        make: impl FnOnce(&mut dyn FnMut(&Self) -> Result<(), DumpError>) -> Result<(), E>,
    ) -> Result<(), E> {
        write_up_to(Self::MOST_BYTES, path, make)
    }
}

/// Like [`Dump::write_each`], with the limit as an argument.
fn write_up_to<E: From<DumpError>>(
    most: u64,
    path: &Path,
    make: impl FnOnce(&mut dyn FnMut(&Dump) -> Result<(), DumpError>) -> Result<(), E>,
) -> Result<(), E> {
    let failed = |source: io::Error| DumpError::Write { path: path.to_owned(), source };
    let written = write_packed(path, |writer| {
        let mut counting = CountingWriter { writer, bytes: 0 };
        let mut steps = 0;
        let made = make(&mut |dump| {
            dump.to_json(&mut counting).map_err(failed)?;
            steps += 1;
            if steps > 1 && counting.bytes > most {
                return Err(DumpError::TooLong { path: path.to_owned(), most, steps });
            }
            Ok(())
        });
        made.map_err(WriteFailure::Unmade)
    });
    written.map_err(|unwritten| match unwritten {
        WriteFailure::Io(source) => failed(source).into(),
        WriteFailure::Unmade(error) => error,
    })
}

/// The reason why a file of dumps was not written.
enum WriteFailure<E> {
    Io(io::Error),
    /// `make` failed, or the dumps are too long.
    Unmade(E),
}

impl<E> From<io::Error> for WriteFailure<E> {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// A writer that counts the bytes that it passes on.
struct CountingWriter<'a> {
    writer: &'a mut dyn Write,
    bytes: u64,
}

impl Write for CountingWriter<'_> {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        let written = self.writer.write(buffer)?;
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }
}

/// Reads the dumps of a file; there is at least one.
pub(crate) fn documents(path: &Path) -> Result<Vec<Dump>, DumpError> {
    let json = unpacked(path)?;
    if let Some(found) = Foreign::detect(&json) {
        let reason = found.instead_of("JSON", "");
        return Err(DumpError::Content { path: path.to_owned(), reason });
    }
    let mut ends = Vec::new();
    let mut documents = serde_json::Deserializer::from_slice(&json).into_iter::<IgnoredAny>();
    while let Some(document) = documents.next() {
        document.map_err(|source| DumpError::Parse { path: path.to_owned(), source })?;
        ends.push(documents.byte_offset());
    }
    // If there is at most one complete JSON document, parse everything as one dump: then the parser reports the error
    // in the rest of the file.
    if ends.len() < 2 {
        return Ok(vec![Dump::from_json(&json, path)?]);
    }
    let starts = std::iter::once(0).chain(ends.iter().copied());
    starts.zip(&ends).map(|(start, &end)| Dump::from_json(&json[start..end], path)).collect()
}

/// Checks that `next` is the dump of the step after `before`; otherwise returns the reason.
fn follows(before: &Dump, next: &Dump) -> Result<(), String> {
    let (b, n) = (&before.header, &next.header);
    if n.step != b.step + 1 {
        return Err(format!(
            "step {} is followed by step {}: these are not consecutive steps of one run",
            b.step, n.step
        ));
    }
    let mut same = n.clone();
    same.step = b.step;
    same.mnist.clone_from(&b.mnist);
    same.not_materialised.clone_from(&b.not_materialised);
    if same != *b {
        return Err(format!(
            "steps {} and {} are not of one run: level, device, preset, loss, dtype, seed and \
             learning rate are the same in all of a run",
            b.step, n.step
        ));
    }
    for tensor in &next.tensors {
        let given = matches!(tensor.name, TensorName::W(_) | TensorName::B(_));
        let other = before.get(tensor.name);
        if given && other.is_some_and(|other| other.shape != tensor.shape) {
            return Err(format!("{} has another shape in step {}", tensor.name, n.step));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Header, Samples, Tensor};

    fn run(steps: u64) -> Vec<Dump> {
        let step = |step| {
            let mut dump = Dump::new(Header {
                level: "level1-cpu".into(),
                step,
                steps: Some(steps),
                mnist: Some(Samples { normalisation: "unit".into(), rows: vec![step as u32] }),
                ..Header::default()
            });
            dump.push(TensorName::W(1), &Tensor::new([2], vec![0.5, step as f32]).unwrap());
            dump
        };
        (0..steps).map(step).collect()
    }

    #[test]
    fn a_run_comes_back_as_it_was_written_plain_or_packed() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["run.json", "run.json.gz"] {
            for steps in [1, 3] {
                let path = folder.path().join(name);
                Dump::write_run(&run(steps), &path).unwrap();
                assert_eq!(Dump::read_run(&path).unwrap(), run(steps));
            }
        }
        // If `run.json` is missing, `run.json.gz` is read.
        std::fs::remove_file(folder.path().join("run.json")).unwrap();
        assert_eq!(Dump::read_run(&folder.path().join("run.json")).unwrap(), run(3));
        let error = Dump::read(&folder.path().join("run.json")).unwrap_err().to_string();
        assert!(error.contains("3 steps"), "{error}");
    }

    #[test]
    fn an_html_page_or_a_git_lfs_pointer_is_recognised() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.json");
        for (bytes, name) in [
            ("<!DOCTYPE html><html>Not found</html>", "it is an HTML page, not JSON"),
            ("version https://git-lfs.github.com/spec/v1\noid sha256:0f\n", "`git lfs pull`"),
        ] {
            std::fs::write(&path, bytes).unwrap();
            let error = Dump::read(&path).unwrap_err().to_string();
            assert!(error.contains(name), "{error}");
        }
    }

    #[test]
    fn a_run_too_long_to_be_read_back_is_not_written() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["run.json", "run.json.gz"] {
            let path = folder.path().join(name);
            let made = std::cell::Cell::new(0);
            let endless = |most| {
                write_up_to(most, &path, |write| {
                    run(1000).iter().try_for_each(|dump| {
                        made.set(made.get() + 1);
                        write(dump)
                    })
                })
            };
            let error: DumpError = endless(2000).unwrap_err();
            assert!(error.to_string().contains("more than 2000 bytes after"), "{error}");
            assert!((2..20).contains(&made.get()), "{} steps were made", made.get());
            assert!(!path.exists());
            endless(1 << 20).unwrap();
        }
        // The limit doesn't apply to the dump of a single step.
        let path = folder.path().join("one.json");
        write_up_to::<DumpError>(1, &path, |write| write(&run(1)[0])).unwrap();
    }

    #[test]
    fn steps_of_different_runs_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.json");
        let error = |run: &[Dump]| {
            Dump::write_run(run, &path).unwrap();
            Dump::read_run(&path).unwrap_err().to_string()
        };
        assert!(error(&run(3)[..2]).contains("2 steps of a run of 3"));
        let mut twice = run(3);
        twice[2] = twice[1].clone();
        assert!(error(&twice).contains("step 1 is followed by step 1"));
        let mut mixed = run(2);
        mixed[1].header.level = "level2-cuda-naive".into();
        assert!(error(&mixed).contains("not of one run"));
        let mut reshaped = run(2);
        reshaped[1].tensors[0].shape = vec![2, 1];
        assert!(error(&reshaped).contains("w1 has another shape in step 1"));
    }
}
