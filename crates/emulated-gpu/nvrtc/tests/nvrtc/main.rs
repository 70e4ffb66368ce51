//! The library's functions, as programs call them.

#![cfg(target_os = "linux")]
#![allow(unsafe_code, reason = "the functions are C")]

mod cudarc;
mod nvidias;
