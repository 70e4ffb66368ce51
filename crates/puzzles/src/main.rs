//! `puzzles [NAME]`: lists the puzzles, shows one, writes its frame to a file, and checks the reader's attempt.

mod program {
    pub(super) mod failure;
    pub(super) mod list;
    pub(super) mod progress;
    pub(super) mod show;
}

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Parser;
use host::file;
use program::failure::Failure;
use program::progress::Progress;
use program::{list, show};
use ptx_emulator::commands::{DONE, FAILED, UNUSABLE};
use puzzles::{Language, Limits, Puzzle, Verdict, attempt, puzzle, puzzles};

/// The most bytes that are read of a file that the reader wrote.
const MOST_BYTES: u64 = 1 << 20;

/// Kernels to write: list them, begin one, check it, get a hint.
///
/// Exits with 0 when a check finds the puzzle solved, 1 when it is not, and 2 when a file can't be
/// read.
#[derive(Parser)]
#[command(version)]
struct Arguments {
    /// The puzzle; without it, all of them are listed.
    #[arg(value_name = "NAME")]
    name: Option<String>,
    /// Check what is in a file, by default in the reader's own: compile it, run it on every size with
    /// every sanitizer, and compare.
    #[arg(long, value_name = "FILE", num_args = 0..=1, requires = "name")]
    #[arg(conflicts_with_all = ["hint", "solution"])]
    check: Option<Option<PathBuf>>,
    /// Show the hint of that number, from 1.
    #[arg(long, value_name = "N", requires = "name", conflicts_with = "solution")]
    hint: Option<usize>,
    /// Show the solution.
    #[arg(long, requires = "name")]
    solution: bool,
    /// Write it in PTX, and not in CUDA C.
    #[arg(long, requires = "name")]
    ptx: bool,
    /// The folder of the reader's own files.
    #[arg(long, value_name = "FOLDER", default_value = "puzzles")]
    dir: PathBuf,
}

fn main() -> ExitCode {
    host::main(|| match host::parse::<Arguments>(|command| command) {
        Ok(arguments) => ExitCode::from(execute(&arguments)),
        Err(code) => code,
    })
}

/// Does what was asked for; the exit code.
fn execute(arguments: &Arguments) -> u8 {
    run(arguments).unwrap_or_else(|failure| match failure {
        Failure::Output(error) => host::lost_output(&error, UNUSABLE),
        failure => {
            host::complain(format_args!("error: {failure}"));
            failure.exit_code()
        }
    })
}

/// Does what was asked for.
///
/// # Errors
/// When there is no such puzzle or hint, a file can't be read or written, or standard output can't.
fn run(arguments: &Arguments) -> Result<u8, Failure> {
    let folder = Folder(&arguments.dir);
    let Some(name) = &arguments.name else {
        print(&list::list(&Progress::read(&folder)?, &folder))?;
        return Ok(DONE);
    };
    let puzzle = find(name)?;
    let language = if arguments.ptx { Language::Ptx } else { Language::CudaC };
    if let Some(file) = &arguments.check {
        return check(puzzle, file.as_deref(), language, &folder);
    }
    let Some(source) = puzzle.source(language) else {
        let name = language.name();
        return Err(Failure::Usage(format!("{} is not set in {name}", puzzle.name)));
    };
    if let Some(number) = arguments.hint {
        let hints = puzzle.hints();
        let Some(hint) = number.checked_sub(1).and_then(|index| hints.get(index)) else {
            let last = hints.len();
            return Err(Failure::Usage(format!("{} has the hints 1 to {last}", puzzle.name)));
        };
        print(&format!("{hint}\n"))?;
    } else if arguments.solution {
        print(source.solution)?;
    } else {
        let file = folder.file(puzzle, language);
        let is_new = !file.exists();
        if is_new {
            folder.write(&file, source.frame)?;
        }
        print(&show::task(puzzle, language, &file, is_new))?;
    }
    Ok(DONE)
}

/// Prints a result.
fn print(text: &str) -> Result<(), Failure> {
    host::print(text).map_err(Failure::Output)
}

/// The folder of the reader's own files.
pub(crate) struct Folder<'a>(&'a Path);

impl Folder<'_> {
    /// Where the reader's attempt at a puzzle is.
    pub(crate) fn file(&self, puzzle: &Puzzle, language: Language) -> PathBuf {
        self.0.join(format!("{}.{}", puzzle.name, language.extension()))
    }

    /// Where the progress is kept.
    pub(crate) fn progress(&self) -> PathBuf {
        self.0.join("progress.json")
    }

    /// Writes a file of it, and makes the folder where there is none.
    pub(crate) fn write(&self, path: &Path, text: &str) -> Result<(), Failure> {
        let failed = |source| Failure::Write { path: path.to_owned(), source };
        fs::create_dir_all(self.0).map_err(failed)?;
        file::write_atomically(path, |file| file.write_all(text.as_bytes())).map_err(failed)
    }
}

/// Reads a file of the reader's. What is no UTF-8 is replaced, and found by the compiler.
pub(crate) fn read(path: &Path) -> Result<String, Failure> {
    let bytes = file::open(path)
        .and_then(|file| file::read(file, MOST_BYTES))
        .map_err(|source| Failure::Read { path: path.to_owned(), source })?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn find(name: &str) -> Result<&'static Puzzle, Failure> {
    puzzle(name).ok_or_else(|| {
        let names: Vec<&str> = puzzles().iter().map(|puzzle| puzzle.name).collect();
        Failure::Usage(format!("there is no puzzle {name}, only {}", names.join(", ")))
    })
}

fn check(
    puzzle: &Puzzle,
    given: Option<&Path>,
    language: Language,
    folder: &Folder<'_>,
) -> Result<u8, Failure> {
    let path = given.map_or_else(|| folder.file(puzzle, language), Path::to_owned);
    let ending = path.extension().and_then(|ending| ending.to_str());
    let Some(language) = ending.and_then(Language::of_extension) else {
        let shown = host::shown(&path);
        let what = format!("{shown}: its name says no language, as .cu (CUDA C) or .ptx does");
        return Err(Failure::Usage(what));
    };
    let outcome = attempt(puzzle, language, &read(&path)?, &Limits::default());
    print(&outcome.to_string())?;
    if outcome.verdict != Verdict::Solved {
        return Ok(FAILED);
    }
    // What is solved elsewhere, such as a solution that is tried, is no progress of the reader's.
    if file::is_same(&path, &folder.file(puzzle, language)) {
        let mut progress = Progress::read(folder)?;
        progress.solved(puzzle, language);
        progress.write(folder)?;
        print(&list::next(&progress, puzzle))?;
    }
    Ok(DONE)
}
