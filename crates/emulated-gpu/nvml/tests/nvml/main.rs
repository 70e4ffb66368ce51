//! Tests of the C functions, with the emulated driver.

#![cfg(target_os = "linux")]
#![allow(unsafe_code, reason = "the library is called through C functions")]

mod cards;
mod hostile;
mod initialisation;
mod invalid_arguments;
mod processes;
mod support;
mod unsupported;
