//! Tests that the book agrees with the code, and the prose with the rules.

mod dependencies;
mod examples;
mod pages;
mod pictures;
mod presets;
mod puzzles;
mod style;
