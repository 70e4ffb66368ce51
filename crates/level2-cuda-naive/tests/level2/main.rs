//! Level 2 as its readers use it.

mod command_line;
#[path = "../../../gpu/tests/support/device.rs"]
mod device;
#[path = "../../../gpu/tests/support/edited.rs"]
mod edited;
mod ladder;
mod operations;
mod profile;
#[path = "../../../training/tests/support/program.rs"]
mod program;
#[path = "../../../training/tests/support/short_run.rs"]
mod short_run;
mod support;
mod training;
