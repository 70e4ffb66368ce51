//! The emulator's results compared with the ISA's definitions: single instructions, the matrix units, whole
//! programs.

mod instructions;
mod programs;
mod tensor_cores;

use emulated_gpu_test_support::random;
