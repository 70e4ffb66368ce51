//! Tests of the puzzles: solutions pass; frames and typical mistakes fail with the right message.

mod attempts;
#[cfg(feature = "cli")]
mod program;
mod solutions;
mod wrong;
