//! The tests of autograd, in one program: building each program with its generic tensors takes a quarter of
//! a minute.

mod cuda;
mod errors;
mod files;
mod gradients;
mod graph;
mod operations;
#[cfg(target_os = "linux")]
mod python;
mod pytorch;
mod training;

#[path = "../../examples/neuron/mod.rs"]
#[allow(dead_code, unreachable_pub, reason = "the examples use the rest")]
mod neuron;
#[path = "../../examples/original/mod.rs"]
#[allow(dead_code, unreachable_pub, reason = "the examples use the rest")]
mod original;
