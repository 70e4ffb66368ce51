//! Level 3 as its readers use it.

mod column_major;
mod command_line;
mod mistakes;
mod ranks;
mod ranks_that_end;
mod reference;
mod shapes;
mod support;
mod training;
