//! The emulated GPU for a page: what `ptx-emulator` does at a terminal, asked for and answered in JSON.
//!
//! [`Playground::answer`] is all of it. In a browser `ffi` hands its texts across; the page calls it
//! from a worker, which it can end at any time, so that no kernel holds the page up. Whatever a
//! request asks for becomes an answer; `{"refused": …}` says why nothing could be done.

mod compile;
mod execute;
#[cfg(target_family = "wasm")]
mod ffi;
#[cfg(not(target_family = "wasm"))]
pub mod frame;
mod puzzle;
mod raw;
mod record;
mod told;
mod train;
mod words;

use serde::Deserialize;
use serde_json::{Value, json};

pub use words::parse;

/// Bytes that the device of a page has.
pub const DEVICE_MEMORY: u64 = 256 << 20;

/// What a page asks for. `files` are texts by their names, as command lines name them.
#[derive(Debug, Deserialize)]
#[serde(tag = "do", rename_all = "kebab-case")]
enum Request {
    /// What is wrong with a text: PTX, or CUDA C where its name ends in `.cu`.
    Check { name: String, text: String },
    /// What `cuda-c` makes of a text.
    Compile { name: String, text: String },
    /// A command line of `ptx-emulator`, without its name.
    Command { line: String, files: told::Files },
    /// The launch of such a line, block `block` of it step by step.
    Record { line: String, files: told::Files, block: [u32; 3], most: usize },
    /// A launch by its bytes.
    Launch { text: String, kernel: String, threads: u32, buffers: Vec<String>, tail: String },
    /// All puzzles.
    Puzzles,
    /// What a reader wrote for a puzzle.
    Attempt { puzzle: String, language: puzzles::Language, text: String },
    /// A network that is to learn the built-in digits with the kernels of this text.
    TrainStart { text: String, seed: u64, samples: usize },
    /// As many batches.
    TrainStep { batches: usize },
    /// Other kernels from the next batch on.
    TrainKernels { text: String },
    /// What the network makes of an image: 784 numbers from 0 to 255, row by row.
    TrainRead { pixels: Vec<u8> },
}

/// A page's device.
#[derive(Default)]
pub struct Playground {
    training: Option<train::Training>,
}

impl Playground {
    /// Answers a request; both are JSON.
    #[must_use]
    pub fn answer(&mut self, request: &str) -> String {
        let answer = match serde_json::from_str(request) {
            Ok(request) => self.carry_out(request),
            Err(error) => Err(format!("the request is not understood: {error}")),
        };
        answer.unwrap_or_else(|why| json!({ "refused": why })).to_string()
    }

    fn carry_out(&mut self, request: Request) -> Result<Value, String> {
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
            Request::Attempt { puzzle, language, text } => {
                puzzle::try_one(&puzzle, language, &text)
            }
            Request::TrainStart { text, seed, samples } => {
                let training = train::Training::new(&text, seed, samples)?;
                let state = training.state();
                self.training = Some(training);
                Ok(state)
            }
            Request::TrainStep { batches } => self.training()?.step(batches),
            Request::TrainKernels { text } => self.training()?.kernels(&text),
            Request::TrainRead { pixels } => self.training()?.read(&pixels),
        }
    }

    fn training(&mut self) -> Result<&mut train::Training, String> {
        self.training.as_mut().ok_or_else(|| "no network has been made yet".to_owned())
    }
}
