//! Tests of level 2: command line, ladder, operations, profile and training.

mod command_line;
mod ladder;
mod operations;
mod own_kernels;
mod profile;
mod training;
