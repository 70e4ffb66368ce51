//! The library through its C functions, as unmodified cudarc calls them, on the emulated driver.

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
