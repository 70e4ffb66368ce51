//! What the levels share around a training step.

mod presets_in_python;
mod reports;
mod steps;
mod training_loop;
