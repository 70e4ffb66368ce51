//! Tests of the suite: it passes, its program prints the results, and it accepts a reader's level.

mod command_line;
mod edges;
mod no_batch;
mod own_level;
mod report_pages;
mod suite;
mod tensor_engine;
mod witnesses;
