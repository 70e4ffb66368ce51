//! PTX on the CPU: parses it, checks it, runs it warp by warp, and checks every access to memory.
//!
//! The library doesn't depend on CUDA's API, needs no GPU, and also runs in a browser. It takes PTX
//! text and buffers, and returns results:
//!
//! ```
//! use ptx_emulator::source::Source;
//! use ptx_emulator::{Emulator, FaultKind, Launch, RunOptions};
//!
//! // x[i] = 2·x[i], with a thread for each element.
//! let text = "
//!     .version 7.0
//!     .target sm_80
//!     .address_size 64
//!     .visible .entry twice(.param .u64 x) {
//!         .reg .u32 %r;
//!         .reg .u64 %x, %at;
//!         .reg .f32 %f;
//!         ld.param.u64 %x, [x];
//!         mov.u32 %r, %tid.x;
//!         mad.wide.u32 %at, %r, 4, %x;
//!         ld.global.f32 %f, [%at];
//!         add.f32 %f, %f, %f;
//!         st.global.f32 [%at], %f;
//!         ret;
//!     }";
//! let device = Emulator::new(RunOptions::default());
//! let source = Source { name: "twice.ptx".into(), text: text.into() };
//! let kernel = device.load(source).unwrap().kernel("twice").unwrap();
//!
//! let input = [1.0f32, 2.0, 3.0, 4.0].map(f32::to_le_bytes);
//! let x = device.memory().allocate(16, 4).unwrap();
//! device.memory().write(x, input.as_flattened()).unwrap();
//! let mut launch = Launch {
//!     grid: [1, 1, 1],
//!     block: [4, 1, 1],
//!     parameters: x.to_le_bytes().into(),
//!     ..Launch::default()
//! };
//! device.launch(&kernel, &launch).unwrap();
//! let mut output = [0; 16];
//! device.memory().read(x, &mut output).unwrap();
//! assert_eq!(&output, [2.0f32, 4.0, 6.0, 8.0].map(f32::to_le_bytes).as_flattened());
//!
//! // A fifth thread has no element.
//! launch.block = [5, 1, 1];
//! let fault = device.launch(&kernel, &launch).unwrap_err();
//! assert_eq!(fault.kind, FaultKind::IllegalAddress);
//! ```
//!
//! # The way through the crate
//!
//! 1. `parse` turns the text into the syntax tree of `syntax`.
//! 2. `check` turns the tree into a typed [`program`], and reports what `ptxas` would reject as
//!    [`Diagnostic`]s. Its table of instructions is [`instructions`].
//! 3. `engine::lower` turns each function into steps, and `engine::run` executes them: 32 lanes in
//!    lockstep, with `engine::warp` for divergence and `engine::grid` for blocks and host threads.
//! 4. Every address passes the table of allocations in [`memory`] before it becomes a pointer. A
//!    rule that a thread breaks is a [`Fault`].
//!
//! `arithmetic` has PTX's arithmetic in pure functions. [`Checks`] adds the sanitizers: races,
//! uninitialised memory, and barriers. [`Emulator::trace`] and [`Emulator::record`] follow a thread
//! or a block, and [`Statistics`] count for each line. [`link`] makes one text of several.
//!
//! # Features
//!
//! - `cli` (default): the program `ptx-emulator`.
//! - `commands`: its commands as functions, which also take CUDA C and compile it with `cuda-c`.

mod arithmetic;
mod check;
mod checks;
#[cfg(feature = "commands")]
pub mod commands;
pub mod conditions;
mod diagnostic;
mod emulator;
mod engine;
pub mod fault;
mod lexer;
mod limits;
mod link;
pub mod machine;
pub mod memory;
mod parse;
pub mod program;
pub mod record;
pub mod room;
pub mod source;
pub mod statistics;
mod sync;
mod syntax;
pub mod texture;
pub mod trace;

pub use check::instructions;
pub use checks::Checks;
pub use diagnostic::Diagnostic;
pub use emulator::{Emulator, Kernel, Launch, Loaded, MAX_THREADS, RunOptions};
#[cfg(all(target_family = "wasm", target_feature = "simd128"))]
pub use engine::fused;
pub use engine::image::ParameterLayout;
pub use engine::output::Output;
pub use fault::{Fault, FaultKind};
pub use link::link;
pub use memory::Memory;
pub use parse::{parse, parse_part};
pub use record::Record;
pub use statistics::Statistics;
pub use trace::Trace;
