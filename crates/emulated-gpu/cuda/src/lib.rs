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

#[cfg(not(target_pointer_width = "64"))]
compile_error!("CUDA's device pointers have 64 bits, and so must the host's");

mod abi;
mod access;
mod allocations;
mod api;
mod array;
mod arrays;
mod beside;
mod capture;
mod card;
mod condition;
mod context;
mod copy;
mod coredump;
mod counts;
mod current;
mod decision;
mod device;
mod driver;
mod error;
mod event;
mod fatbin;
mod ffi;
mod function;
mod graph;
mod graph_memory;
mod green;
mod hardware;
mod host;
mod identity;
mod image;
mod jit;
mod launch;
mod leaks;
mod library;
mod limits;
mod linker;
mod md2;
mod mipmap;
mod module;
mod multiprocessors;
mod occupancy;
mod operation;
mod path;
mod pool;
mod process;
mod queue;
mod registry;
mod report;
mod settings;
mod storage;
mod stream;
mod sync;
mod texture;
mod texture_reference;
mod turns;
mod user_object;
mod value;
mod virtual_memory;

pub use path::{FILE, NotFound, library_path};
