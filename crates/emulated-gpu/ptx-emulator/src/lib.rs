//! PTX on the CPU: reads it, checks it, runs it warp by warp, and checks every access.

pub mod arithmetic;
mod check;
mod diagnostic;
mod lexer;
mod parse;
pub mod program;
pub mod source;
mod syntax;

pub use diagnostic::Diagnostic;
pub use parse::parse;
