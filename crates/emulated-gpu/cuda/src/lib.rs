//! The CUDA driver, emulated: a shared library that exports the C functions of `libcuda.so` and runs
//! PTX on the CPU.
//!
//! It is meant to be loaded, not linked: a program opens the file that [`library_path`] names before
//! anything asks for `libcuda.so`, and the loader then gives that name to it. Everything else is
//! behind the C ABI. Nothing else of this crate may be used from Rust: it would be linked into the
//! program a second time, with a second set of everything that is known of the device.
//!
//! The functions are those of the CUDA Driver API that cudarc's safe layer, cust, and NVIDIA's
//! bindings for Python call. What is not emulated says so: textures of several levels, sparse arrays,
//! clusters, machine code (a cubin, or a fatbin without PTX). Of the tables behind NVIDIA's runtime library
//! there is what is known of them. `include/emulated_gpu.h` declares what NVIDIA's driver does not have. The
//! environment chooses checks and reports; the crate's `README.md` lists the variables.
//!
//! The folders are named after the chapters of the CUDA Driver API's manual. They form seven layers, each of which
//! imports only from those below it:
//!
//! | layer | folders |
//! |---|---|
//! | 7 | `api`: the exported functions by chapter, and the driver in which they look handles up |
//! | 6 | `stream`: queues of work, and their capture into graphs |
//! | 5 | `graph`: graphs, and the operations that graphs and streams run; `module`; `green_context` |
//! | 4 | `execution`: functions, launches and occupancy; `event`; `texture`: arrays, textures and surfaces |
//! | 3 | `context`: contexts, and the hardware that they share |
//! | 2 | `memory`: allocations, copies, pools and mappings; `device`: attributes, limits and settings |
//! | 1 | `abi`: C's types, errors and handles; `sync`: locks and work queues |
//!
//! Two calls on their way down:
//!
//! - `cuMemcpyHtoD`: `api/memory/copy.rs` → `memory/copy.rs` (checks) → `stream/mod.rs` (`enqueue`) →
//!   `sync/queue.rs` → `graph/operation/mod.rs` (`run`, on the stream's thread) → `memory/copy.rs` → the emulator's
//!   `memory`.
//! - `cuLaunchKernel`: `api/execution.rs` → `execution/launch.rs` (checks) → `stream/mod.rs` → `sync/queue.rs` →
//!   `graph/operation/mod.rs` (`launch_kernel`) → the emulator's `emulator` and `engine`.

#[cfg(not(target_pointer_width = "64"))]
compile_error!("CUDA's device pointers have 64 bits, and so must the host's");

mod abi;
mod api;
mod context;
mod device;
mod event;
mod execution;
mod graph;
mod green_context;
mod memory;
mod module;
mod path;
mod stream;
mod sync;
mod texture;

pub use path::{FILE, NotFound, library_path};
