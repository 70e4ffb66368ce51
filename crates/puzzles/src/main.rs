//! The program `puzzles`: it lists the puzzles, shows one, writes its frame to a file, and checks the reader's attempt.

mod program {
    pub(super) mod failure;
    pub(super) mod list;
    pub(super) mod progress;
    pub(super) mod show;
}

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::{fs, io};

use clap::Parser;
use host::file;
use program::failure::Failure;
use program::progress::Progress;
use program::{list, show};
use ptx_emulator::commands::{DONE, FAILED, UNUSABLE};
use puzzles::{Language, Limits, Puzzle, Verdict, attempt, puzzle, puzzles};

/// Maximum size of a reader's file, in bytes.
const MAX_BYTES: u64 = 1 << 20;

/// Kernels to write: list the puzzles, begin one, check it, get a hint.
///
/// The exit code of a check is 0 if the puzzle is solved, 1 if it is not, and 2 if the file can't be read.
#[derive(Parser)]
#[command(version)]
struct Arguments {
    /// The puzzle; without a name, all puzzles are listed.
    #[arg(value_name = "NAME")]
    name: Option<String>,
    /// Check a file (default: the reader's own): compile it, run it on every size with every sanitizer, and
    /// compare the results.
    #[arg(long, value_name = "FILE", num_args = 0..=1, requires = "name")]
    #[arg(conflicts_with_all = ["hint", "solution"])]
    check: Option<Option<PathBuf>>,
    /// Show hint N, counting from 1.
    #[arg(long, value_name = "N", requires = "name", conflicts_with = "solution")]
    hint: Option<usize>,
    /// Show the solution.
    #[arg(long, requires = "name")]
    solution: bool,
    /// Use PTX in place of CUDA C.
    #[arg(long, requires = "name")]
    ptx: bool,
    /// The folder for the reader's files.
    #[arg(long, value_name = "FOLDER", default_value = "puzzles")]
    dir: PathBuf,
}

fn main() -> ExitCode {
    host::main(|| match host::parse::<Arguments>(|command| command) {
        Ok(arguments) => ExitCode::from(execute(&arguments)),
        Err(code) => code,
    })
}

/// Runs the command and reports its error. Returns the exit code.
fn execute(arguments: &Arguments) -> u8 {
    run(arguments).unwrap_or_else(|failure| match failure {
        Failure::Output(error) => host::lost_output(&error, UNUSABLE),
        failure => {
            host::complain(format_args!("error: {failure}"));
            failure.exit_code()
        }
    })
}

/// Runs the command.
///
/// # Errors
/// If the puzzle or hint doesn't exist, a file can't be read or written, or standard output can't be written.
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
        return Err(Failure::Usage(format!(
            "{} can't be solved in {name}: leave out --ptx",
            puzzle.name
        )));
    };
    if let Some(number) = arguments.hint {
        let hints = puzzle.hints();
        let Some(hint) = number.checked_sub(1).and_then(|index| hints.get(index)) else {
            let last = hints.len();
            return Err(Failure::Usage(format!(
                "{} has hints 1 to {last}, but no hint {number}",
                puzzle.name
            )));
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

/// The folder of the reader's files.
pub(crate) struct Folder<'a>(&'a Path);

impl Folder<'_> {
    /// The file with the reader's attempt at a puzzle.
    pub(crate) fn file(&self, puzzle: &Puzzle, language: Language) -> PathBuf {
        self.0.join(format!("{}.{}", puzzle.name, language.extension()))
    }

    /// The progress file.
    pub(crate) fn progress(&self) -> PathBuf {
        self.0.join("progress.json")
    }

    /// Writes a file in this folder, which is created if it is missing.
    pub(crate) fn write(&self, path: &Path, text: &str) -> Result<(), Failure> {
        let failed = |source| Failure::Write { path: path.to_owned(), source };
        if self.0.exists() && !self.0.is_dir() {
            let what = format!("{} is not a folder: name one with --dir", host::shown(self.0));
            return Err(failed(io::Error::other(what)));
        }
        fs::create_dir_all(self.0).map_err(failed)?;
        file::write_atomically(path, |file| file.write_all(text.as_bytes())).map_err(failed)
    }
}

/// Reads a file of the reader's. Invalid UTF-8 is replaced, and rejected by the compiler.
pub(crate) fn read(path: &Path) -> Result<String, Failure> {
    let bytes = file::open(path)
        .and_then(|file| file::read(file, MAX_BYTES))
        .map_err(|source| Failure::Read { path: path.to_owned(), source })?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn find(name: &str) -> Result<&'static Puzzle, Failure> {
    puzzle(name).ok_or_else(|| {
        let names: Vec<&str> = puzzles().iter().map(|puzzle| puzzle.name).collect();
        Failure::Usage(format!("unknown puzzle {name:?}. The puzzles are {}", names.join(", ")))
    })
}

fn check(
    puzzle: &Puzzle,
    given: Option<&Path>,
    language: Language,
    folder: &Folder<'_>,
) -> Result<u8, Failure> {
    let path = given.map_or_else(|| folder.file(puzzle, language), Path::to_owned);
    if given.is_none() && !path.exists() {
        let (shown, name) = (host::shown(&path), puzzle.name);
        let flag = if language == Language::Ptx { " --ptx" } else { "" };
        return Err(Failure::Usage(format!(
            "there is no attempt in {shown} yet: begin with `cargo run -p puzzles -- {name}{flag}`"
        )));
    }
    let source = read(&path)?;
    let ending = path.extension().and_then(|ending| ending.to_str());
    let Some(language) = ending.and_then(Language::from_extension) else {
        let shown = host::shown(&path);
        let what =
            format!("{shown}: unknown language: the name has to end in .cu (CUDA C) or .ptx");
        return Err(Failure::Usage(what));
    };
    let outcome = attempt(puzzle, language, &source, &Limits::default());
    print(&outcome.to_string())?;
    if outcome.verdict != Verdict::Solved {
        return Ok(FAILED);
    }
    // Only a file in the reader's folder counts as progress, not, for example, the published solution.
    if file::is_same(&path, &folder.file(puzzle, language)) {
        let mut progress = Progress::read(folder)?;
        progress.solved(puzzle, language);
        progress.write(folder)?;
        print(&list::next(&progress, puzzle))?;
    }
    Ok(DONE)
}
