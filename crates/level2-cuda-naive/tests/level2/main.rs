//! Level 2 as its readers use it.

mod command_line;
mod operations;
mod support;
mod training;
