//! The exported functions, by topic.

#![allow(non_snake_case, reason = "the names are NVML's")]
#![allow(unsafe_op_in_unsafe_fn, reason = "exported functions pass on their caller's promises")]

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
