//! The commands of `ptx-emulator`.

mod commands;
mod cuda_c;
mod fidelity;
mod puzzle;
mod trace;
mod volatile;
