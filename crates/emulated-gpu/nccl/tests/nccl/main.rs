//! Ranks of one process and of several, through cudarc's unmodified layer above NCCL.
#![allow(unsafe_code, reason = "loads libraries, and calls functions in C")]

mod collectives;
mod deadlocks;
mod processes;
mod refused;
mod support;
