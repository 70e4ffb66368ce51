//! The puzzles: solutions pass, frames and known mistakes fail with what is said of them.

mod attempts;
#[cfg(feature = "cli")]
mod program;
mod solutions;
mod wrong;
