//! The findings about the files on the command line, and their output as a table, a page or JSON.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::slice;

use tensor::Dump;
use tensor_diff::{
    Candidate, Comparison, Judgement, RunComparison, compare, compare_levels, compare_runs, judge,
    judge_run, write_json, write_judgement, write_judgement_json, write_levels_json,
    write_levels_table, write_page, write_run_json, write_run_table, write_table,
};

/// A file, and the steps that it holds.
pub(crate) type Run<'a> = (&'a Path, &'a [Dump]);

/// Two files that can't be compared.
pub(crate) struct Incomparable {
    pub(crate) reference: PathBuf,
    pub(crate) candidate: PathBuf,
    pub(crate) reason: String,
}

/// What was found of the files that were named.
pub(crate) struct Found<'a> {
    of: Verdicts<'a>,
    /// Where ranks differ that should have the same, a sentence each.
    differences: Vec<String>,
    /// A sentence for each batch that differs from the samples of MNIST that its header names.
    of_mnist: Vec<String>,
}

enum Verdicts<'a> {
    One(Box<Judgement>, &'a Path, &'a Dump),
    Two(Box<Comparison>, (&'a Path, &'a Dump), (&'a Path, &'a Dump)),
    Runs(RunComparison, Option<Run<'a>>, Run<'a>),
    Levels(Vec<Candidate<'a>>, Run<'a>),
}

impl<'a> Found<'a> {
    /// Judges a single file by itself, or compares each of the others with the first. `differences` lists the
    /// disagreements of ranks that were put together, `of_mnist` the batches that aren't MNIST's.
    pub(crate) fn of(
        runs: &[Run<'a>],
        differences: Vec<String>,
        of_mnist: Vec<String>,
        scale: f64,
    ) -> Result<Self, Incomparable> {
        Ok(Self { of: Verdicts::of(runs, scale)?, differences, of_mnist })
    }

    /// Whether nothing is wrong.
    pub(crate) fn agrees(&self) -> bool {
        self.differences.is_empty() && self.of_mnist.is_empty() && self.of.agrees()
    }

    /// Writes it for people.
    pub(crate) fn table(&self, out: &mut dyn Write) -> io::Result<()> {
        for (head, sentences) in [
            ("the batch is not made of the samples that its header names:", &self.of_mnist),
            ("the ranks differ in what all should have alike:", &self.differences),
        ] {
            if !sentences.is_empty() {
                writeln!(out, "{head}")?;
                for sentence in sentences {
                    writeln!(out, "  {sentence}")?;
                }
                writeln!(out)?;
            }
        }
        self.of.table(out)
    }

    /// Writes it as a page.
    pub(crate) fn html(&self, out: &mut dyn Write, scale: f64) -> io::Result<()> {
        self.of.html(out, &[&self.of_mnist[..], &self.differences].concat(), scale)
    }

    /// Writes it for programs.
    pub(crate) fn json(&self, out: &mut dyn Write) -> io::Result<()> {
        if self.differences.is_empty() && self.of_mnist.is_empty() {
            return self.of.json(out);
        }
        let mut text = Vec::new();
        self.of.json(&mut text)?;
        let mut report: serde_json::Value = serde_json::from_slice(&text)?;
        let alone = ["consistent", "wrong"].iter().any(|word| report["verdict"] == *word);
        report["verdict"] = if alone { "wrong" } else { "differ" }.into();
        for (key, sentences) in
            [("rank_differences", &self.differences), ("mnist_differences", &self.of_mnist)]
        {
            if !sentences.is_empty() {
                report[key] = sentences.clone().into();
            }
        }
        serde_json::to_writer_pretty(&mut *out, &report)?;
        writeln!(out)
    }
}

impl<'a> Verdicts<'a> {
    fn of(runs: &[Run<'a>], scale: f64) -> Result<Self, Incomparable> {
        let incomparable = |reference: &Path, candidate: &Path, reason| Incomparable {
            reference: reference.to_owned(),
            candidate: candidate.to_owned(),
            reason,
        };
        Ok(match *runs {
            [(path, [dump])] => Self::One(Box::new(judge(dump, scale)), path, dump),
            [(path, run)] => Self::Runs(judge_run(run, scale), None, (path, run)),
            [(reference_path, [reference]), (path, [dump])] => {
                let comparison = Box::new(compare(reference, dump, scale));
                Self::Two(comparison, (reference_path, reference), (path, dump))
            }
            [(reference_path, reference), (path, run)] => {
                let found = compare_runs(reference, run, scale)
                    .map_err(|reason| incomparable(reference_path, path, reason))?;
                Self::Runs(found, Some((reference_path, reference)), (path, run))
            }
            [reference, ref candidates @ ..] => {
                let found = compare_levels(reference.1, candidates.iter().copied(), scale)
                    .map_err(|(at, why)| incomparable(reference.0, candidates[at].0, why))?;
                Self::Levels(found, reference)
            }
            [] => unreachable!("clap asks for one file at least"),
        })
    }

    fn agrees(&self) -> bool {
        match self {
            Self::One(judgement, ..) => judgement.is_clean(),
            Self::Two(comparison, ..) => comparison.agrees(),
            Self::Runs(found, ..) => found.agrees(),
            Self::Levels(candidates, _) => candidates.iter().all(|one| one.found.agrees()),
        }
    }

    fn table(&self, out: &mut dyn Write) -> io::Result<()> {
        match self {
            Self::One(judgement, path, dump) => write_judgement(out, judgement, path, dump),
            Self::Two(comparison, reference, candidate) => {
                write_table(out, comparison, *reference, *candidate)
            }
            Self::Runs(found, reference, run) => write_run_table(out, found, *reference, *run),
            Self::Levels(candidates, reference) => write_levels_table(out, *reference, candidates),
        }
    }

    fn html(&self, out: &mut dyn Write, differences: &[String], scale: f64) -> io::Result<()> {
        let one = |path, run, mut found: RunComparison| {
            found.warnings.extend_from_slice(differences);
            [Candidate { path, run, found }]
        };
        match self {
            Self::One(judgement, path, dump) => {
                let found = RunComparison::of_itself(dump, (**judgement).clone());
                write_page(out, None, &one(path, slice::from_ref(*dump), found), scale)
            }
            Self::Two(comparison, (reference_path, reference), (path, dump)) => {
                let found = RunComparison::of_one(dump, reference, (**comparison).clone());
                let reference = Some((*reference_path, slice::from_ref(*reference)));
                write_page(out, reference, &one(path, slice::from_ref(*dump), found), scale)
            }
            Self::Runs(found, reference, (path, run)) => {
                write_page(out, *reference, &one(path, run, found.clone()), scale)
            }
            Self::Levels(candidates, reference) => {
                let mut candidates = candidates.clone();
                candidates
                    .iter_mut()
                    .for_each(|one| one.found.warnings.extend_from_slice(differences));
                write_page(out, Some(*reference), &candidates, scale)
            }
        }
    }

    fn json(&self, out: &mut dyn Write) -> io::Result<()> {
        match self {
            Self::One(judgement, path, dump) => write_judgement_json(out, judgement, path, dump),
            Self::Two(comparison, reference, candidate) => {
                write_json(out, comparison, *reference, *candidate)
            }
            Self::Runs(found, reference, (path, run)) => {
                let reference = reference.map(|(path, run)| (path, &run[0]));
                write_run_json(out, found, reference, (path, &run[0]))
            }
            Self::Levels(candidates, (path, run)) => {
                write_levels_json(out, (path, &run[0]), candidates)
            }
        }
    }
}
