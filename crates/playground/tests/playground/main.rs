//! The emulator of pages.

mod book;
mod training;
