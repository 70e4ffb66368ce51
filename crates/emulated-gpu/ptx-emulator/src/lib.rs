//! PTX on the CPU: reads it, checks it, runs it warp by warp, and checks every access.

pub mod arithmetic;
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
pub use emulator::{Emulator, Kernel, Launch, Loaded, MOST_THREADS, Options};
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
