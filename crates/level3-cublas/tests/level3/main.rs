//! Tests of level 3 through its public interface and its program.

mod column_major;
mod command_line;
mod mistakes;
mod ranks;
mod ranks_that_end;
mod reference;
mod shapes;
mod support;
mod training;
