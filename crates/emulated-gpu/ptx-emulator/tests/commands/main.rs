//! The commands of `ptx-emulator`.

mod arguments;
mod commands;
mod cuda_c;
mod fidelity;
mod trace;
mod volatile;
