//! The emulated GPU for a page: the commands of `ptx-emulator`, the puzzles and a training run, with requests and
//! answers in JSON.
//!
//! [`Playground::answer`] is the whole interface. In a browser `ffi` passes its texts; the page calls it from a worker,
//! which it can end at any time, so that no kernel blocks the page. Every request gets an answer; `{"refused": …}` gives
//! the reason if it could not be executed.

mod compile;
mod cuda_c_lines;
mod exchange;
mod execute;
mod fault_sentence;
#[cfg(target_family = "wasm")]
mod ffi;
#[cfg(not(target_family = "wasm"))]
pub mod frame;
mod hunt;
mod level2;
mod puzzle;
mod raw;
mod record;
mod train;
mod words;

use serde::Deserialize;
use serde_json::{Value, json};

pub use words::parse;

/// Device memory of a page, in bytes.
pub const DEVICE_MEMORY: u64 = 256 << 20;

/// A request of a page. `files` maps names, as command lines use them, to texts.
#[derive(Debug, Deserialize)]
#[serde(tag = "do", rename_all = "kebab-case")]
enum Request {
    /// Check a text: PTX, or CUDA C if its name ends in `.cu`.
    Check { name: String, text: String },
    /// Compile CUDA C with `cuda-c`.
    Compile { name: String, text: String },
    /// Execute a command line of `ptx-emulator`, without the program's name.
    Command { line: String, files: exchange::Files },
    /// Record block `block` of the launch of a command line, step by step, at most `most` steps.
    Record { line: String, files: exchange::Files, block: [u32; 3], most: usize },
    /// Launch a kernel with parameters and buffers given as bytes.
    Launch { text: String, kernel: String, threads: u32, buffers: Vec<String>, tail: String },
    /// List all puzzles.
    Puzzles,
    /// Judge a reader's attempt at a puzzle.
    Attempt { puzzle: String, language: puzzles::Language, text: String },
    /// Record block `block` of an attempt at a puzzle, in the launch of its size number `size`, from 0.
    RecordAttempt {
        puzzle: String,
        language: puzzles::Language,
        text: String,
        size: usize,
        block: [u32; 3],
    },
    /// Create a network that learns the built-in digits with the kernels of this text. Each digit is moved at random by up to
    /// `max_shift` pixels to each side.
    TrainStart {
        text: String,
        seed: u64,
        samples: usize,
        #[serde(default)]
        max_shift: u8,
    },
    /// Train on the next `batches` batches.
    TrainStep { batches: usize },
    /// Use other kernels from the next batch on; with `updates_early`, also update the second layer's weights before the
    /// first layer's gradient is computed.
    TrainKernels {
        text: String,
        #[serde(default)]
        updates_early: bool,
    },
    /// Train with the kernels of level 2 from the next batch on: those of `kernels` that pass their puzzle's check, and the
    /// book's. With `unchecked`, also those that compile and fail the check.
    TrainOwn {
        kernels: Vec<level2::OwnText>,
        #[serde(default)]
        unchecked: bool,
    },
    /// Record block `block` of the launch that ended a training step with a fault.
    TrainRecord { block: [u32; 3] },
    /// Have tensor-diff judge a training step.
    TrainJudge,
    /// List the bugs of the hunt, and the lines of a step.
    Hunts,
    /// Plant a bug in training steps, and show its symptoms. `steps` are dumps with the batch and the initial
    /// parameters of each step.
    HuntStart { number: usize, steps: Vec<String> },
    /// Judge which line a reader takes for the wrong one, by the tensor that it makes.
    HuntPick { tensor: tensor::TensorName },
    /// Judge a reader's line.
    HuntGuess { line: String },
    /// Have tensor-diff name the operation.
    HuntLook,
    /// Show the wrong line.
    HuntSolution,
    /// Classify an image: 784 numbers from 0 to 255, row by row.
    TrainRead { pixels: Vec<u8> },
}

/// A page's device.
#[derive(Default)]
pub struct Playground {
    training: Option<train::Training>,
    hunt: Option<hunt::Hunt>,
}

impl Playground {
    /// Answers a request; both are JSON.
    #[must_use]
    pub fn answer(&mut self, request: &str) -> String {
        let answer = match serde_json::from_str(request) {
            Ok(request) => self.execute(request),
            Err(error) => Err(format!("invalid request: {error}")),
        };
        answer.unwrap_or_else(|why| json!({ "refused": why })).to_string()
    }

    fn execute(&mut self, request: Request) -> Result<Value, String> {
        match request {
            Request::Check { name, text } => Ok(compile::check(&name, &text)),
            Request::Compile { name, text } => Ok(compile::compile(&name, &text)),
            Request::Command { line, files } => execute::command(&line, files),
            Request::Record { line, files, block, most } => {
                record::record(&line, files, block, most)
            }
            Request::Launch { text, kernel, threads, buffers, tail } => {
                raw::launch(&text, &kernel, threads, &buffers, &tail)
            }
            Request::Puzzles => Ok(puzzle::list()),
            Request::Attempt { puzzle, language, text } => puzzle::judge(&puzzle, language, &text),
            Request::RecordAttempt { puzzle, language, text, size, block } => {
                record::record_attempt(&puzzle, language, &text, (size, block))
            }
            Request::TrainStart { text, seed, samples, max_shift } => {
                let training = train::Training::new(&text, seed, samples, max_shift)?;
                let state = training.state();
                self.training = Some(training);
                Ok(state)
            }
            Request::TrainStep { batches } => self.training()?.step(batches),
            Request::TrainKernels { text, updates_early } => {
                self.training()?.kernels(&text, updates_early)
            }
            Request::TrainOwn { kernels, unchecked } => {
                self.training()?.own_kernels(&kernels, unchecked)
            }
            Request::TrainRecord { block } => self.training()?.record_failed(block),
            Request::TrainJudge => self.training()?.judge(),
            Request::TrainRead { pixels } => self.training()?.read(&pixels),
            Request::Hunts => Ok(hunt::list()),
            Request::HuntStart { number, steps } => {
                let started = hunt::Hunt::new(number, &steps)?;
                Ok(self.hunt.insert(started).symptoms())
            }
            Request::HuntPick { tensor } => Ok(self.hunt()?.pick(tensor)),
            Request::HuntGuess { line } => self.hunt()?.guess(&line),
            Request::HuntLook => Ok(self.hunt()?.look()),
            Request::HuntSolution => Ok(self.hunt()?.solution()),
        }
    }

    fn training(&mut self) -> Result<&mut train::Training, String> {
        self.training
            .as_mut()
            .ok_or_else(|| "no training has been started: send train-start first".to_owned())
    }

    fn hunt(&self) -> Result<&hunt::Hunt, String> {
        self.hunt
            .as_ref()
            .ok_or_else(|| "no hunt has been started: send hunt-start first".to_owned())
    }
}
