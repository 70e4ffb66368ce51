//! Level 2 as its readers use it.

mod command_line;
mod ladder;
mod operations;
mod profile;
mod training;
