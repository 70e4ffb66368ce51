//! Tests of the code that the levels share.

mod fake;
mod presets_in_python;
mod reports;
mod steps;
mod training_loop;
