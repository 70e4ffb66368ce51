//! The book is true.

mod examples;
mod pages;
mod pictures;
mod presets;
mod puzzles;
