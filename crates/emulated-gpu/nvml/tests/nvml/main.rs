//! The library as C calls it, beside the emulated driver.

#![cfg(target_os = "linux")]
#![allow(unsafe_code, reason = "the functions are C")]

mod beginning;
mod cards;
mod hostile;
mod processes;
mod refused;
mod support;
mod unsupported;
