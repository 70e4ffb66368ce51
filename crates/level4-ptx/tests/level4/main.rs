//! Level 4 as its readers use it.

mod assembles;
mod bf16;
mod bounds;
mod command_line;
mod cuts;
#[path = "../../../gpu/tests/support/device.rs"]
mod device;
#[path = "../../../training/tests/support/program.rs"]
mod program;
mod reference;
mod sanitizer;
#[path = "../../../training/tests/support/short_run.rs"]
mod short_run;
#[path = "../support/mod.rs"]
mod support;
mod training;
