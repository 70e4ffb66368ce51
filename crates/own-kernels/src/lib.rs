//! A training step of level 2 with the reader's own kernels: the solutions of ten puzzles.
//!
//! [`OwnArgs`] are the options `--own-kernels` and `--unchecked`. [`OwnArgs::load`] checks the reader's files as
//! `cargo run -p puzzles -- NAME --check` does, and makes a [`Substitutes`] of those that pass. The other operations
//! keep the book's kernels. [`puzzles::level2`] maps the arguments of level 2's operations to those of the puzzles.

mod launch;

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use clap::Args;
use gpu::{Compiler, Gpu, GpuError, Profiler, Substitutes, compile};
use launch::OwnKernel;
use puzzles::level2::{Row, SolutionState, credit};
use puzzles::{Language, puzzle};
use tensor::Loss;
use training::{Error, Result};

/// Options for training with the reader's own kernels.
#[derive(Args, Clone, Debug, Default)]
pub struct OwnArgs {
    /// Train with your own kernels: the puzzles in FOLDER that you have solved [default FOLDER: puzzles].
    #[arg(long, value_name = "FOLDER", num_args = 0..=1, require_equals = true)]
    #[arg(default_missing_value = "puzzles", conflicts_with_all = ["kernels", "products"])]
    own_kernels: Option<PathBuf>,
    /// Also use kernels that compile but fail their puzzle's check.
    #[arg(long, requires = "own_kernels")]
    unchecked: bool,
}

/// The reader's kernels for a network.
pub struct OwnKernels {
    substitutes: Rc<Substitutes>,
    /// The number of kernels that the network needs, including the book's.
    count: usize,
}

impl OwnKernels {
    /// The reader's kernels, each of which replaces the book's kernel of an operation.
    #[must_use]
    pub fn substitutes(&self) -> Rc<Substitutes> {
        Rc::clone(&self.substitutes)
    }

    /// A line that states the number of the network's kernels that the reader wrote, with the accuracy if the network
    /// was tested.
    #[must_use]
    pub fn credit(&self, accuracy: Option<&str>) -> Option<String> {
        let (own, count) = (self.substitutes.len(), self.count);
        accuracy.map(|accuracy| credit(own, count, accuracy))
    }
}

impl OwnArgs {
    /// Checks the reader's kernels for a network with this loss, prints a line for each, and loads those that pass.
    /// `None` if the option `--own-kernels` is missing.
    ///
    /// # Errors
    /// [`Error::Usage`] if there is no such folder; [`Error::Read`] if a file can't be read; an error of the compiler
    /// or the driver.
    pub fn load(
        &self,
        gpu: &Gpu,
        compiler: Option<Compiler>,
        loss: Loss,
        profiler: &Profiler,
    ) -> Result<Option<OwnKernels>> {
        let Some(folder) = &self.own_kernels else { return Ok(None) };
        let option = if folder == Path::new("puzzles") {
            String::new()
        } else {
            format!(" --dir {}", host::shown(folder))
        };
        if folder.is_file() {
            let file = host::shown(folder);
            return Err(Error::Usage(format!(
                "--own-kernels takes a folder, and {file} is a file"
            )));
        }
        if !folder.is_dir() {
            return Err(Error::Usage(format!(
                "--own-kernels: there is no folder {}. The first puzzle creates it: `cargo run -p puzzles -- {}{option}`",
                host::shown(folder),
                Row::all(loss).next().map_or("", |row| row.puzzle)
            )));
        }
        let mut substitutes = Substitutes::new();
        let mut list = format!("your kernels in {}\n", host::shown(folder));
        let mut count = 0;
        for row in Row::all(loss) {
            count += 1;
            let state = self.state(folder, row)?;
            list +=
                &format!("  {:<16} {state}{}\n", row.puzzle, next_command(&state, row, &option));
            if let SolutionState::Used(language, source, _) = state {
                let own = OwnKernel::new(load_kernel(gpu, compiler, row, language, &source)?, row);
                // The reader's kernel is registered before level 2 loads the book's, because a profile shows the
                // occupancy of the kernel that is registered first.
                profiler.watch(row.operation, own.function());
                substitutes.insert(row.operation, Box::new(own));
            }
        }
        host::print(&list).map_err(Error::Output)?;
        for path in unknown_kernels(folder) {
            host::complain(format_args!(
                "note: {} is not used, because no puzzle has this name",
                host::shown(&path)
            ));
        }
        Ok(Some(OwnKernels { substitutes: Rc::new(substitutes), count }))
    }

    /// The reader's solution of a puzzle.
    fn state(&self, folder: &Path, row: &Row) -> Result<SolutionState> {
        row.solution(self.unchecked, |language| {
            let path = folder.join(format!("{}.{}", row.puzzle, language.extension()));
            if !path.exists() {
                return Ok(None);
            }
            let text = host::input::text(&path);
            text.map(Some).map_err(|error| Error::Read { path, reason: error.to_string() })
        })
    }
}

/// A colon, and the command with which the reader goes on with a puzzle; empty if the reader's solution is used.
fn next_command(state: &SolutionState, row: &Row, option: &str) -> String {
    let command = format!(": cargo run -p puzzles -- {}", row.puzzle);
    match state {
        SolutionState::Used(..) => String::new(),
        SolutionState::Unsolved(Language::Ptx, _) => format!("{command} --ptx --check{option}"),
        SolutionState::Unsolved(Language::CudaC, _) => format!("{command} --check{option}"),
        SolutionState::Missing => format!("{command}{option}"),
    }
}

/// The kernels in a folder that don't have the name of a puzzle, in order of their names.
fn unknown_kernels(folder: &Path) -> Vec<PathBuf> {
    let files = folder.read_dir().into_iter().flatten().flatten().map(|entry| entry.path());
    let is_unknown = |path: &PathBuf| {
        let part =
            |part: Option<&OsStr>| part.and_then(OsStr::to_str).unwrap_or_default().to_owned();
        let (name, extension) = (part(path.file_stem()), part(path.extension()));
        Language::ALL.iter().any(|language| language.extension() == extension)
            && puzzle(&name).is_none()
    };
    let mut unknown: Vec<PathBuf> = files.filter(is_unknown).collect();
    unknown.sort();
    unknown
}

/// Compiles and loads a kernel. The default compiler is `cuda-c`, which also compiled the kernel for its check.
fn load_kernel(
    gpu: &Gpu,
    compiler: Option<Compiler>,
    row: &Row,
    language: Language,
    source: &str,
) -> gpu::Result<gpu::CudaFunction> {
    let ptx = match language {
        Language::Ptx => source.to_owned(),
        Language::CudaC => {
            let file = format!("{}.cu", row.puzzle);
            compile::with_compiler(compiler.unwrap_or(Compiler::BuiltIn), &file, source)?
        }
    };
    let kernel = row.puzzle().kernel;
    let entries = ptx.split(".entry").skip(1).filter_map(|rest| {
        let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '$');
        let rest = rest.trim_start();
        rest.split(|c| !is_part(c)).next()
    });
    let mut found = entries.filter(|name| cuda_c::source_name(name) == kernel);
    let name = found.next().ok_or_else(|| GpuError::NoKernel(kernel.to_owned()))?;
    gpu.function(name, &ptx)
}
