//! The findings about the files on the command line, and their output as a table, a page or JSON.

use std::io::{self, Write};

use tensor_diff::{Candidate, Run, judge_files, write_json, write_page, write_text};

use crate::Failure;

/// The findings about all files.
pub(crate) struct Findings<'a> {
    reference: Option<Run<'a>>,
    candidates: Vec<Candidate<'a>>,
    /// A sentence for each tensor that should be the same on all ranks and isn't.
    rank_differences: Vec<String>,
    /// A sentence for each batch that differs from the samples of MNIST that its header names.
    mnist_differences: Vec<String>,
}

impl<'a> Findings<'a> {
    /// Judges a single file by itself, or compares each of the others with the first.
    ///
    /// # Errors
    /// If two runs begin with different steps.
    pub(crate) fn new(
        runs: &[Run<'a>],
        rank_differences: Vec<String>,
        mnist_differences: Vec<String>,
        scale: f64,
    ) -> Result<Self, Failure> {
        let (reference, files) = match runs {
            [first, rest @ ..] if !rest.is_empty() => (Some(*first), rest),
            _ => (None, runs),
        };
        let candidates = judge_files(reference.map(|(_, run)| run), files.iter().copied(), scale)
            .map_err(|(at, reason)| Failure::Incomparable {
            reference: runs[0].0.to_owned(),
            candidate: files[at].0.to_owned(),
            reason,
        })?;
        Ok(Self { reference, candidates, rank_differences, mnist_differences })
    }

    /// Whether nothing is wrong.
    pub(crate) fn agrees(&self) -> bool {
        self.rank_differences.is_empty()
            && self.mnist_differences.is_empty()
            && self.candidates.iter().all(|one| one.found.agrees())
    }

    /// Writes the findings as text.
    pub(crate) fn text(&self, out: &mut dyn Write) -> io::Result<()> {
        for (head, sentences) in [
            (
                "the batch is not made of the samples that its header names:",
                &self.mnist_differences,
            ),
            (
                "the ranks differ in tensors that should be the same on all ranks:",
                &self.rank_differences,
            ),
        ] {
            if !sentences.is_empty() {
                writeln!(out, "{head}")?;
                sentences.iter().try_for_each(|sentence| writeln!(out, "  {sentence}"))?;
                writeln!(out)?;
            }
        }
        write_text(out, self.reference, &self.candidates)
    }

    /// Writes the findings as an HTML page.
    pub(crate) fn html(&self, out: &mut dyn Write, scale: f64) -> io::Result<()> {
        let mut candidates = self.candidates.clone();
        for candidate in &mut candidates {
            let differences = self.mnist_differences.iter().chain(&self.rank_differences);
            candidate.found.warnings.extend(differences.cloned());
        }
        write_page(out, self.reference, &candidates, scale)
    }

    /// Writes the findings as JSON.
    pub(crate) fn json(&self, out: &mut dyn Write) -> io::Result<()> {
        if self.rank_differences.is_empty() && self.mnist_differences.is_empty() {
            return write_json(out, self.reference, &self.candidates);
        }
        let mut text = Vec::new();
        write_json(&mut text, self.reference, &self.candidates)?;
        let mut report: serde_json::Value = serde_json::from_slice(&text)?;
        report["verdict"] = if self.reference.is_some() { "differ" } else { "wrong" }.into();
        for (key, sentences) in [
            ("rank_differences", &self.rank_differences),
            ("mnist_differences", &self.mnist_differences),
        ] {
            if !sentences.is_empty() {
                report[key] = sentences.clone().into();
            }
        }
        serde_json::to_writer_pretty(&mut *out, &report)?;
        writeln!(out)
    }
}
