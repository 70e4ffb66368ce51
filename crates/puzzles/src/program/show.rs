//! Text of a puzzle for the terminal.

use std::fmt::Write;
use std::path::Path;

use puzzles::{Language, Puzzle};

/// The text that introduces a puzzle: the task, the tested sizes, the file to edit, and the command
/// that checks it.
pub(crate) fn task(puzzle: &Puzzle, language: Language, file: &Path, is_new: bool) -> String {
    let mut text = format!("{}\n\n{}\n\nTested on:\n", puzzle.title(), puzzle.text());
    for size in puzzle.sizes() {
        let _ = writeln!(text, "  {size}");
    }
    for demand in puzzle.demands {
        let _ = writeln!(text, "  {}", demand.describe());
    }
    let (shown, name) = (host::shown(file), puzzle.name);
    let verb = if is_new { "The frame is now in" } else { "Your attempt is in" };
    let flag = if language == Language::Ptx { " --ptx" } else { "" };
    let _ = writeln!(text, "\n{verb} {shown}. Edit it, and check it:");
    let _ = writeln!(text, "  cargo run -p puzzles -- {name}{flag} --check");
    let hints = puzzle.hints().len();
    let _ = writeln!(text, "There are {hints} hints (--hint 1), and a solution (--solution).");
    text
}
