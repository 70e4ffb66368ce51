//! Tests of level 1: accuracy, command line, fast form, hostile input, saved models and products.

mod accuracy;
mod command_line;
mod fast;
mod hostile;
mod models;
mod products;
