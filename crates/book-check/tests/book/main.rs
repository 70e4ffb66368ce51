//! The book is true.

mod pages;
mod presets;
mod puzzles;
