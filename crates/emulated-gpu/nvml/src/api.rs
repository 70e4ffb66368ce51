//! The exported functions, by topic.

#![allow(non_snake_case, reason = "the names are NVML's")]

mod affinity;
mod field;
mod find;
mod identity;
mod memory;
mod mode;
mod peer;
mod process;
mod system;
mod unsupported;
