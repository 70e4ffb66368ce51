//! Level 2 as its readers use it.

mod command_line;
mod ladder;
mod operations;
mod profile;
#[path = "../../../training/tests/support/short_run.rs"]
mod short_run;
mod support;
mod training;
