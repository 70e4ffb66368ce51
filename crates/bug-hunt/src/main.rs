//! Bugs in a training step: `bug-hunt --plant 'dz1 = da1'` plants one and lets `tensor-diff` name it, and
//! `bug-hunt 1` writes a dump with a bug that the reader has to find.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use bug_hunt::{BUGS, Line, Reply, check, describe, list, run};
use clap::Parser;
use tensor::{Dump, DumpError};
use tensor_diff::{judge_files, write_text};

/// The exit code of a right guess, and of `--plant` if no planted line makes a tensor wrong.
const EXIT_RIGHT: u8 = 0;
/// The exit code of a wrong guess, and of `--plant` if a planted line makes a tensor wrong.
const EXIT_WRONG: u8 = 1;
/// The exit code of bad usage and of files that can't be read or written.
const EXIT_UNUSABLE: u8 = 2;

/// Plant a bug in a training step and let tensor-diff name it; or hunt one of twelve bugs.
///
/// A line of the step is written in NumPy's notation, such as 'da1 = dz2 @ w2'. Exits with 0 if a guess is
/// right or the step agrees with its reference, with 1 if not, and with 2 on bad usage.
#[derive(Parser)]
#[command(version)]
struct Arguments {
    /// The bug to hunt, from 1 to 12; without a number, the step's lines and the bugs are listed.
    #[arg(value_name = "BUG", value_parser = clap::value_parser!(u8).range(1..=12))]
    number: Option<u8>,
    /// Check whether this is the wrong line.
    #[arg(long, value_name = "LINE", requires = "number", conflicts_with = "solution")]
    guess: Option<String>,
    /// Show the wrong line.
    #[arg(long, requires = "number")]
    solution: bool,
    /// Plant this line in the step, and compare the step with its reference.
    #[arg(long, value_name = "LINE", conflicts_with = "number")]
    plant: Vec<String>,
    /// The dump with the batch, the parameters and the right tensors, for --plant.
    #[arg(long, value_name = "FILE", default_value = "reference/dumps/softmax.json")]
    #[arg(requires = "plant")]
    reference: PathBuf,
    /// The folder for the dumps.
    #[arg(long, value_name = "FOLDER", default_value = "target/bug-hunt")]
    dir: PathBuf,
}

fn main() -> ExitCode {
    host::main(|| {
        let arguments: Arguments = match host::parse(|command| command) {
            Ok(arguments) => arguments,
            Err(code) => return code,
        };
        let (text, code) = match execute(&arguments) {
            Ok(done) => done,
            Err(error) => {
                host::complain(format_args!("error: {error}"));
                return ExitCode::from(EXIT_UNUSABLE);
            }
        };
        ExitCode::from(match host::print(&text) {
            Ok(()) => code,
            Err(error) => host::lost_output(&error, EXIT_UNUSABLE),
        })
    })
}

/// Runs the command. Returns its output and exit code.
fn execute(arguments: &Arguments) -> Result<(String, u8), String> {
    let folder = &arguments.dir;
    if !arguments.plant.is_empty() {
        return plant(&arguments.reference, &arguments.plant, &folder.join("planted.json"));
    }
    let Some(number) = arguments.number else { return Ok((list(), EXIT_RIGHT)) };
    let bug = &BUGS[usize::from(number) - 1];
    if arguments.solution {
        return Ok((format!("{}\n{}\n", bug.line, bug.lesson), EXIT_RIGHT));
    }
    let reference = PathBuf::from(format!("reference/dumps/{}.json", bug.run));
    let right = Dump::read_run(&reference).map_err(|error| error.to_string())?;
    let wrong = run(&right, &[Line::parse(bug.line)?])?;
    if let Some(guess) = &arguments.guess {
        let line = Line::parse(guess)?;
        return Ok(match check(&right, &wrong, line, guess)? {
            Reply::Solved(text) => (text + "\n" + bug.lesson + "\n", EXIT_RIGHT),
            Reply::Wrong(text) => (text + "\n", EXIT_WRONG),
        });
    }
    let path = folder.join(format!("{number}.json"));
    write(&wrong, &path)?;
    Ok((describe(number, (&reference, &right), (&path, &wrong))?, EXIT_RIGHT))
}

/// Plants lines in a step, and compares its dump with the reference.
fn plant(reference: &Path, lines: &[String], path: &Path) -> Result<(String, u8), String> {
    let right = Dump::read_run(reference).map_err(|error| error.to_string())?;
    let lines: Vec<Line> = lines.iter().map(|line| Line::parse(line)).collect::<Result<_, _>>()?;
    let planted = run(&right, &lines)?;
    write(&planted, path)?;
    let candidates =
        judge_files(Some(&right), [(path, &planted[..])], 1.0).map_err(|(_, reason)| reason)?;
    let mut text = Vec::new();
    write_text(&mut text, Some((reference, &right)), &candidates)
        .map_err(|error| error.to_string())?;
    let code =
        if candidates.iter().all(|one| one.found.agrees()) { EXIT_RIGHT } else { EXIT_WRONG };
    Ok((String::from_utf8_lossy(&text).into_owned(), code))
}

/// Writes a dump, in a folder that is created if it is missing.
fn write(run: &[Dump], path: &Path) -> Result<(), String> {
    let folder = path.parent().unwrap_or(Path::new(""));
    fs::create_dir_all(folder)
        .map_err(|error| format!("can't create {}: {error}", host::shown(folder)))?;
    Dump::write_run(run, path).map_err(|error: DumpError| error.to_string())
}
