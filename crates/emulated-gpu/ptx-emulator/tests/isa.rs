//! What the ISA says of each instruction, beside what the emulator computes: single instructions, the matrix
//! units, whole programs.

mod instructions;
mod programs;
mod tensor_cores;

use emulated_gpu_test_support::random;
