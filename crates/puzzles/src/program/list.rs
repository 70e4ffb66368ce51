//! List of all puzzles, with the reader's progress.

use std::fmt::Write;

use puzzles::{Language, Puzzle, puzzles};

use super::progress::Progress;
use crate::Folder;

/// The list as text, with a line for each puzzle: its state in each language, its name and its
/// idea.
pub(crate) fn list(progress: &Progress, folder: &Folder<'_>) -> String {
    let mut text = String::from("    CUDA C  PTX     name             what is new\n");
    for (index, puzzle) in puzzles().iter().enumerate() {
        let state = |language| match () {
            () if puzzle.source(language).is_none() => "",
            () if progress.has(puzzle, language) => "solved",
            () if folder.file(puzzle, language).exists() => "begun",
            () => "-",
        };
        let [cuda, ptx] = Language::ALL.map(state);
        let (number, name, idea) = (index + 1, puzzle.name, puzzle.idea);
        let _ = writeln!(text, "{number:>2}  {cuda:<7} {ptx:<7} {name:<16} {idea}");
    }
    let solved = puzzles().iter().filter(|puzzle| progress.is_solved(puzzle)).count();
    let _ = writeln!(text, "{solved} of {} solved", puzzles().len());
    text
}

/// The next steps after a puzzle has been solved: the other language, and the next unsolved puzzle.
pub(crate) fn next(progress: &Progress, solved: &Puzzle) -> String {
    let left = solved.sources.iter().find(|source| !progress.has(solved, source.language));
    let later = puzzles().iter().skip_while(|puzzle| puzzle.name != solved.name);
    let others = later.chain(puzzles()).find(|puzzle| !progress.is_solved(puzzle));
    let mut text = String::new();
    if let Some(source) = left {
        let flag = if source.language == Language::Ptx { " --ptx" } else { "" };
        let (name, language) = (solved.name, source.language.name());
        let _ = writeln!(text, "\nThe same in {language}: cargo run -p puzzles -- {name}{flag}");
    }
    let _ = match others {
        Some(next) => writeln!(text, "Next: cargo run -p puzzles -- {} ({})", next.name, next.idea),
        None => writeln!(text, "All {} are solved.", puzzles().len()),
    };
    text
}
