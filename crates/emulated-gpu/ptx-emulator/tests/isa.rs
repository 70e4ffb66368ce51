//! What the ISA says of each instruction, beside what the emulator computes: single instructions, the matrix
//! units, whole programs.

mod instructions;
mod programs;
#[path = "support/random.rs"]
mod random;
mod tensor_cores;
