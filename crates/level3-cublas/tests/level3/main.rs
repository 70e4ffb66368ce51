//! Level 3 as its readers use it.

mod command_line;
#[path = "../../../gpu/tests/support/device.rs"]
mod device;
#[path = "../../../gpu/tests/support/edited.rs"]
mod edited;
mod mistakes;
#[path = "../../../training/tests/support/program.rs"]
mod program;
mod ranks;
mod ranks_that_end;
mod reference;
mod shapes;
#[path = "../../../training/tests/support/short_run.rs"]
mod short_run;
mod support;
mod traffic;
mod training;
