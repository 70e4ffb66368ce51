//! The commands of `ptx-emulator`.

mod commands;
mod puzzle;
