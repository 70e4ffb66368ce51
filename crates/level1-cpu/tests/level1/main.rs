//! Level 1 as its readers use it.

mod accuracy;
mod command_line;
mod fast;
mod hostile;
mod models;
mod products;
