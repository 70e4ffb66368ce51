//! Helpers for tests of the compiler and the emulator.

pub mod kernel;
pub mod nvrtc;
pub mod reference;
