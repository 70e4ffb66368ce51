//! The book is true.

mod dependencies;
mod examples;
mod pages;
mod pictures;
mod presets;
mod puzzles;
mod style;
