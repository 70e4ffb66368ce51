//! The tests of level 4.

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
