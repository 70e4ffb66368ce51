//! The engine: a kernel lowered to steps, and what runs them.
//!
//! A launch is a [`grid`] of [`block`]s of [`warp`]s. A warp of 32 lanes runs in lockstep over
//! [`registers`] that are rows of 32 words; lanes that diverge become fragments, which join again
//! where they meet. [`run`] is the loop, [`vector`] and [`hot`] are the operations that matter,
//! [`access`] and [`space`] the way to memory, and [`lower`] makes the steps.

mod access;
mod arrival;
mod atomics;
mod barrier;
mod block;
mod builtin;
mod code;
mod collective;
mod copy_async;
mod core;
mod defined;
mod format;
pub(crate) mod grid;
mod hot;
mod initialised;
pub(crate) mod lower;
mod meeting;
mod output;
mod profile;
pub(crate) mod race;
mod recursion;
mod registers;
mod run;
mod space;
pub(crate) mod trace;
mod vector;
mod warp;

pub(crate) use code::Executable;
pub use code::ParameterLayout;
pub(crate) use lower::function_address;
pub use output::Output;
