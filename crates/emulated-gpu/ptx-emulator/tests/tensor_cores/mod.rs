//! The instructions of the matrix units, run through the whole emulator.

#[path = "../instructions/matrix.rs"]
#[allow(dead_code, reason = "the forms of all of them; those of `mma` are run here")]
mod forms;
mod isa;
mod moves;
mod products;
mod tiles;
mod vectors;
mod warp;
