//! The puzzles: solutions pass, frames and known mistakes fail with what is said of them.

mod attempts;
mod solutions;
mod wrong;
