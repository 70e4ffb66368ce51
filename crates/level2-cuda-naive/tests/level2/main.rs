//! The tests of level 2.

mod command_line;
mod ladder;
mod operations;
mod profile;
mod training;
