//! NCCL between emulated NVIDIA GPUs: a shared library whose SONAME is `libnccl.so`.
//!
//! The ranks of a communicator are threads of one process, processes of one machine, or both. What one
//! of them sends goes through memory that they share (`region`); they wait for each other there, and
//! find out when one of them is gone (`meeting`). Operations are work on streams of the emulated
//! driver, so they take their turn among kernels and copies, are captured into graphs, and ask for the
//! device memory that they touch.
//!
//! Where the real library would hang, this one ends with an error on every rank, and a sentence on
//! standard error that names the ranks: when a rank ends or aborts, when one never comes, when two call
//! for different things, and when they wait for each other (`deadlock`).
//!
//! Sums have one order: each piece of a buffer is cut into as many segments as there are ranks, and
//! segment k is added up along the ring, from rank k + 1 around to rank k.
//!
//! Nothing of this crate is to be used from Rust but [`library_path`].

#![allow(
    unsafe_code,
    clippy::too_many_arguments,
    reason = "the functions are C's, with C's arguments, and ranks share memory"
)]

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
mod meeting;
mod operation;
mod point;
mod reduction;
mod region;
mod shared_file;
mod split;

c_abi::library_file!("libemulated_nccl.so");
