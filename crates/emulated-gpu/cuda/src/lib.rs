//! The emulated CUDA driver: a shared library that exports the C functions of `libcuda.so` and runs PTX on the CPU.
//!
//! The library is meant to be loaded, not linked: a program opens the file at [`library_path`] before anything
//! requests `libcuda.so`, and the dynamic loader then resolves that name to it. All other functions are only
//! available through the C ABI. They must not be called from Rust, because the crate would then be linked into the
//! program as a second copy, with its own separate state.
//!
//! The exported functions are those of the CUDA Driver API that cudarc's safe layer, cust, and NVIDIA's Python
//! bindings call. Features that are not emulated return an error that names them: textures with several levels,
//! sparse arrays, clusters, and machine code (a cubin, or a fatbin without PTX). The undocumented function tables
//! that NVIDIA's runtime library uses are emulated if their purpose is known. `include/emulated_gpu.h` declares
//! extensions that NVIDIA's driver doesn't have. Environment variables select checks and reports; the crate's
//! `README.md` lists them.
//!
//! The folders are named after the chapters of the CUDA Driver API's manual. They form seven layers; each layer only
//! imports from lower ones:
//!
//! | layer | folders |
//! |---|---|
//! | 7 | `api`: the exported functions by chapter, and the driver's registries of handles |
//! | 6 | `stream`: queues of work, and their capture into graphs |
//! | 5 | `graph`: graphs, and the operations that graphs and streams run; `module`; `green_context` |
//! | 4 | `execution`: functions, launches and occupancy; `event`; `texture`: arrays, textures and surfaces |
//! | 3 | `context`: contexts, and the hardware that they share |
//! | 2 | `memory`: allocations, copies, pools and mappings; `device`: attributes, limits and settings |
//! | 1 | `abi`: C's types, errors and handles; `sync`: locks and work queues |
//!
//! The path of two calls through the layers:
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
