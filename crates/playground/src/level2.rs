//! The kernels of a training step of level 2: the reader's solutions of puzzles, and the book's solutions of the others.

use ptx_emulator::source::Source;
use ptx_emulator::{Emulator, Kernel, Launch, Statistics};
use puzzles::level2::{Row, Scratch, SolutionState};
use puzzles::{Language, Puzzle};
use serde::Deserialize;
use tensor::Loss;

use crate::train::{self, Buffer, StepFailure, floats, write};

/// The kernel of level 2 that computes the losses, which has no puzzle.
const LOSS: &str = include_str!("../../../kernels/bce.cu");
const LOSS_THREADS: u32 = 256;

/// A kernel that the reader has written for a puzzle.
#[derive(Debug, Deserialize)]
pub(crate) struct OwnText {
    puzzle: String,
    language: Language,
    text: String,
}

/// The kernels of a training step.
pub(crate) struct Level2 {
    /// The operations in the order of a training step, each with the state of the reader's solution.
    pub(crate) steps: Vec<(&'static Row, SolutionState)>,
    kernels: Vec<LoadedText>,
    loss: LoadedText,
    /// Buffers for the largest copy that a kernel needs, and for as many ones.
    copy: Buffer,
    ones: Buffer,
}

/// A loaded kernel with its text.
pub(crate) struct LoadedText {
    kernel: Kernel,
    /// The name of its file.
    file: String,
    pub(crate) ptx: String,
    /// The text that `ptx` was compiled from.
    pub(crate) cuda_c: Option<String>,
}

/// The position of a puzzle among those of a training step; `None` if it is not one of them.
pub(crate) fn position(puzzle: &Puzzle) -> Option<usize> {
    Row::all(Loss::Bce).position(|row| row.puzzle == puzzle.name)
}

impl Level2 {
    /// Checks the reader's kernels, and loads those that are used and the book's. With `unchecked`, kernels that compile
    /// are used although they fail their check.
    pub(crate) fn new(
        emulator: &Emulator,
        own: &[OwnText],
        unchecked: bool,
        [copy, ones]: [Buffer; 2],
    ) -> Result<Self, String> {
        let (mut steps, mut kernels) = (Vec::new(), Vec::new());
        for row in Row::all(Loss::Bce) {
            let text = |language| -> Result<_, String> {
                let is_wanted =
                    |own: &&OwnText| own.puzzle == row.puzzle && own.language == language;
                Ok(own.iter().find(is_wanted).map(|own| own.text.clone()))
            };
            let state = row.solution(unchecked, text)?;
            let puzzle = row.puzzle();
            let (language, text) = match &state {
                SolutionState::Used(language, text, _) => (*language, text.as_str()),
                SolutionState::Unsolved(..) | SolutionState::Missing => {
                    let source = puzzle.sources.first().ok_or("the puzzle has no solution")?;
                    (source.language, source.solution)
                }
            };
            let name = format!("{}.{}", row.puzzle, language.extension());
            kernels.push(load(emulator, name, language, text, puzzle.kernel)?);
            steps.push((row, state));
        }
        write(emulator, ones, &vec![1.0; ones.len])?;
        let loss = load(emulator, "bce.cu".to_owned(), Language::CudaC, LOSS, "bce")?;
        Ok(Self { steps, kernels, loss, copy, ones })
    }

    /// The number of the reader's kernels that are used, and the number of all kernels.
    pub(crate) fn share(&self) -> (usize, usize) {
        let is_own = |state: &SolutionState| matches!(state, SolutionState::Used(..));
        (self.steps.iter().filter(|(_, state)| is_own(state)).count(), self.steps.len())
    }

    /// The text of a kernel, by the name of its file.
    pub(crate) fn text(&self, file: &str) -> Option<&LoadedText> {
        self.kernels.iter().chain([&self.loss]).find(|loaded| loaded.file == file)
    }

    /// Launches the kernel of an operation with the operation's arguments.
    pub(crate) fn launch(
        &self,
        emulator: &Emulator,
        operation: &str,
        arguments: &[u64],
    ) -> Result<Statistics, StepFailure> {
        let mut steps = self.steps.iter().zip(&self.kernels);
        let step = steps.find(|((row, _), _)| row.operation == operation);
        let ((row, _), loaded) = step.ok_or_else(|| format!("no puzzle computes {operation}"))?;
        let passed = row.arguments(arguments, |scratch| match scratch {
            Scratch::Ones(_) => Ok(self.ones.address),
            Scratch::CopyOf(address, len) => {
                let copied = floats(emulator, Buffer { address, len })?;
                write(emulator, Buffer { len, ..self.copy }, &copied)?;
                Ok::<u64, String>(self.copy.address)
            }
        })?;
        launch(emulator, &loaded.kernel, row.shape(arguments), &passed)
    }

    /// Computes the loss of each sample of a batch, summed over the classes.
    pub(crate) fn losses(
        &self,
        emulator: &Emulator,
        [z, y, losses]: [Buffer; 3],
        [batch, classes]: [usize; 2],
    ) -> Result<Statistics, StepFailure> {
        let grid = [(batch as u32).div_ceil(LOSS_THREADS), 1];
        let arguments = [z.address, y.address, losses.address, batch as u64, classes as u64];
        launch(emulator, &self.loss.kernel, [grid, [LOSS_THREADS, 1]], &arguments)
    }
}

/// Compiles and loads the kernel with this name in its source.
fn load(
    emulator: &Emulator,
    file: String,
    language: Language,
    text: &str,
    name: &str,
) -> Result<LoadedText, String> {
    let (ptx, cuda_c) = match language {
        Language::Ptx => (text.to_owned(), None),
        Language::CudaC => {
            let options =
                cuda_c::CompileOptions { name: &file, ..cuda_c::CompileOptions::default() };
            let made =
                cuda_c::compile(text, &options).map_err(|_| format!("{file} does not compile"))?;
            (made.text, Some(text.to_owned()))
        }
    };
    let source = Source { name: file.clone(), text: ptx.clone() };
    let loaded = emulator.load(source).map_err(|_| format!("{file} has errors"))?;
    let names = loaded.kernels();
    let found = names.iter().find(|kernel| cuda_c::source_name(kernel) == name);
    let kernel = found.and_then(|name| loaded.kernel(name));
    let kernel = kernel.ok_or_else(|| format!("{file} has no kernel {name}"))?;
    Ok(LoadedText { kernel, file, ptx, cuda_c })
}

/// Launches a kernel. Each parameter gets the low bytes of its argument, as many as the parameter has.
fn launch(
    emulator: &Emulator,
    kernel: &Kernel,
    [[columns, rows], [x, y]]: [[u32; 2]; 2],
    arguments: &[u64],
) -> Result<Statistics, StepFailure> {
    let mut parameters = vec![0; kernel.parameter_bytes() as usize];
    for (layout, argument) in kernel.parameters().iter().zip(arguments) {
        let (at, size) = (layout.offset as usize, layout.size as usize);
        parameters[at..at + size].copy_from_slice(&argument.to_le_bytes()[..size]);
    }
    let launch =
        Launch { grid: [columns, rows, 1], block: [x, y, 1], parameters, ..Launch::default() };
    train::launch(emulator, kernel, launch)
}
