//! Tests of level 4: its rungs, plans, generated PTX, command line and training.

mod assembles;
mod bf16;
mod bounds;
mod command_line;
mod cuts;
#[path = "../support/products.rs"]
mod generated;
mod plan;
mod products;
mod rungs;
mod sanitizer;
#[path = "../support/mod.rs"]
mod support;
mod training;
