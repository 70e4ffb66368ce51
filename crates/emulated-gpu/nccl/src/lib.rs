//! NCCL between emulated NVIDIA GPUs: a shared library whose SONAME is `libnccl.so`.
//!
//! The ranks of a communicator are threads of one process, processes on one machine, or both. They
//! exchange data through shared memory (`region`); they wait for each other through that memory,
//! and detect that a rank has ended (`membership`). Operations are work on streams of the emulated
//! driver, so they run in order with kernels and copies, can be captured into graphs, and request
//! access to the device memory that they use.
//!
//! Where the real library would hang, this one ends with an error on every rank, and a line on
//! standard error that names the ranks: when a rank ends or aborts, when a rank never joins, when
//! two ranks call different operations, and when ranks wait for each other (`deadlock`).
//!
//! Sums have a fixed order: each piece of a buffer is cut into one segment per rank, and segment k
//! is added up along the ring, from rank k + 1 around to rank k.
//!
//! Rust code should only use [`library_path`].

#![allow(unsafe_code, clippy::too_many_arguments, reason = "C functions; ranks share memory")]

mod api;
mod arguments;
mod collective;
mod communicator;
mod deadlock;
mod driver;
mod element;
mod errors;
mod ffi;
mod fp8;
mod group;
mod id;
mod membership;
mod operation;
mod point;
mod reduction;
mod region;
mod shared_file;
mod split;

c_abi::library_file!("libemulated_nccl.so");
