//! Tests with ranks in one process and in several, through cudarc's unmodified bindings of NCCL.
#![allow(unsafe_code, reason = "loads libraries, and calls functions in C")]

mod collectives;
mod deadlocks;
mod processes;
mod refused;
mod support;
