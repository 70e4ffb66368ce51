//! The progress file, which lists the solved puzzles, and is in the folder of the reader's
//! attempts.

use std::collections::{BTreeMap, BTreeSet};

use puzzles::{Language, Puzzle};
use serde::{Deserialize, Serialize};

use super::failure::Failure;
use crate::{Folder, read};

/// The name of the file format.
const FORMAT: &str = "four-levels-puzzles";

/// The solved puzzles.
#[derive(Serialize, Deserialize)]
pub(crate) struct Progress {
    format: String,
    solved: BTreeMap<String, BTreeSet<Language>>,
}

impl Progress {
    /// Reads the progress file of a folder. If it is missing, no puzzle is solved.
    pub(crate) fn read(folder: &Folder<'_>) -> Result<Self, Failure> {
        let path = folder.progress();
        if !path.exists() {
            return Ok(Self { format: FORMAT.to_owned(), solved: BTreeMap::new() });
        }
        let parsed: Result<Self, _> = serde_json::from_str(&read(&path)?);
        let reason = match parsed {
            Ok(progress) if progress.format == FORMAT => return Ok(progress),
            Ok(other) => format!("its format is `{}`", other.format),
            Err(error) => error.to_string(),
        };
        let shown = host::shown(&path);
        Err(Failure::Usage(format!(
            "{shown} is not a progress file ({reason}): remove it to start over, or name another \
             folder with --dir"
        )))
    }

    pub(crate) fn write(&self, folder: &Folder<'_>) -> Result<(), Failure> {
        let mut text = serde_json::to_string_pretty(self).unwrap_or_default();
        text.push('\n');
        folder.write(&folder.progress(), &text)
    }

    /// Records a solved puzzle.
    pub(crate) fn solved(&mut self, puzzle: &Puzzle, language: Language) {
        self.solved.entry(puzzle.name.to_owned()).or_default().insert(language);
    }

    /// Whether a puzzle has been solved in a language.
    pub(crate) fn has(&self, puzzle: &Puzzle, language: Language) -> bool {
        self.solved.get(puzzle.name).is_some_and(|languages| languages.contains(&language))
    }

    /// Whether a puzzle has been solved in any language.
    pub(crate) fn is_solved(&self, puzzle: &Puzzle) -> bool {
        Language::ALL.iter().any(|&language| self.has(puzzle, language))
    }
}
