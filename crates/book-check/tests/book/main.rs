//! The book is true.

mod pages;
mod pictures;
mod presets;
mod puzzles;
mod sources;
