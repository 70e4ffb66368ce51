//! What the levels share around a training step.

mod presets_in_python;
mod reports;
mod training_loop;
