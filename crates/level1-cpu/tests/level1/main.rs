//! The tests of level 1.

mod accuracy;
mod command_line;
mod fast;
mod hostile;
mod models;
mod products;
