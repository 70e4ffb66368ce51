//! The commands of `ptx-emulator`.

mod commands;
mod fidelity;
mod puzzle;
