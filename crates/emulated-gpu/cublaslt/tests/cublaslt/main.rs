//! The library's C functions, called through unmodified cudarc on the emulated driver.

#![allow(unsafe_code, reason = "the functions are C")]

mod algorithms;
mod complex;
mod descriptors;
mod epilogues;
mod graphs;
mod layouts;
mod messages;
mod refusals;
mod support;
mod threads;
