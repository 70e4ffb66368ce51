//! Tests of the emulator for pages.

mod book;
mod training;
