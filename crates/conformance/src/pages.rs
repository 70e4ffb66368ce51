//! The results of the checks as HTML pages: an index, and a page for each reference, with a column for every variant
//! and a row for every tensor.

use std::io;
use std::path::{Path, PathBuf};

use host::file;
use page::Page;
use serde::Serialize;
use tensor::Dump;
use tensor_diff::{Candidate, judge_files, write_page};
use training::report::write_file;
use training::{Error, Result};

use crate::check::{Case, Expected};
use crate::{Check, RunTensors};

const INDEX: Page<'static> =
    Page { template: include_str!("pages.html"), style: "td a { font-weight: 700; }", script: "" };

/// The HTML pages that compare the tensors of every variant with the reference: one page per case, and an index.
#[derive(Debug)]
pub struct Pages {
    folder: PathBuf,
    cases: Vec<IndexLine>,
}

#[derive(Debug, Serialize)]
struct IndexLine {
    case: String,
    check: &'static str,
    file: String,
    right: usize,
    all: usize,
}

impl Pages {
    /// Makes the folder for the pages.
    ///
    /// # Errors
    /// If it can't be created or written to.
    pub fn new(folder: &Path) -> Result<Self> {
        std::fs::create_dir_all(folder)
            .and_then(|()| file::check_writable(&folder.join("index.html")))
            .map_err(|source| Error::Write { path: folder.into(), source })?;
        Ok(Self { folder: folder.into(), cases: Vec::new() })
    }

    /// Whether a check has pages: only those that compare a level with PyTorch do.
    #[must_use]
    pub const fn shows(check: Check) -> bool {
        matches!(check, Check::References | Check::Steps)
    }

    /// Writes the page of a case, with the results of all variants.
    ///
    /// # Errors
    /// If it can't be written, or the steps of a run differ from the reference's.
    pub fn write(
        &mut self,
        check: Check,
        case: &Case,
        kept: &[RunTensors],
        dumps: &Path,
    ) -> Result<()> {
        let expected = match &case.expected {
            Expected::Step(dump) => std::slice::from_ref(&**dump),
            Expected::Run(run) => &run[..],
            Expected::Trained(_) => return Ok(()),
        };
        if kept.is_empty() {
            return Ok(());
        }
        let runs: Vec<(PathBuf, &[Dump])> =
            kept.iter().map(|kept| (PathBuf::from(&kept.title), &kept.run[..])).collect();
        let each = runs.iter().map(|(path, run)| (path.as_path(), *run));
        let found: Vec<Candidate<'_>> = judge_files(Some(expected), each, 1.0)
            .map_err(|(at, why)| Error::Usage(format!("{}: {why}", kept[at].title)))?;
        let file = format!("{}.html", case.name);
        let path = self.folder.join(&file);
        let reference = (dumps.join(&case.name), expected);
        let reference = (reference.0.as_path(), reference.1);
        file::write_atomically(&path, |out| write_page(out, Some(reference), &found, 1.0))
            .map_err(|source: io::Error| Error::Write { path: path.clone(), source })?;
        self.cases.push(IndexLine {
            case: case.name.clone(),
            check: check.name(),
            file,
            right: found.iter().filter(|one| one.found.agrees()).count(),
            all: found.len(),
        });
        Ok(())
    }

    /// Writes the index, and returns its path.
    ///
    /// # Errors
    /// If it can't be written.
    pub fn finish(self) -> Result<PathBuf> {
        let path = self.folder.join("index.html");
        let page = INDEX.render("Every level compared with PyTorch", &self.cases, &());
        let failed = |error| Error::Write { path: path.clone(), source: io::Error::other(error) };
        write_file(&path, page.map_err(failed)?)?;
        Ok(path)
    }
}
