//! The engine: a kernel lowered to steps, and what runs them.
//!
//! A launch is a [`grid`] of [`block`]s of [`warp`]s. A warp of 32 lanes runs in lockstep over
//! [`registers`] that are rows of 32 words; lanes that diverge become splits of it, which join again
//! where they meet. [`run`] is the loop, [`vector`] and [`simd`] are the operations that matter,
//! [`access`] and [`space`] the way to memory, and [`lower`] makes the steps.
//!
//! In layers, each of which imports from those above it alone: [`registers`], [`lane`], [`state_space`]
//! and [`image`] are data; [`race`] and [`core`] what a step may touch; [`access`], [`atomics`],
//! [`collective`], [`matrix`], [`asynchronous`] and others do one kind of step; [`code`] is the steps; [`vector`] and [`simd`]
//! compute; [`lower`] makes steps, and [`run`], [`block`] and [`grid`] run them.

mod access;
mod arrival;
mod asynchronous;
mod atomics;
mod barrier;
mod block;
mod builtin;
pub(crate) mod code;
mod collective;
mod copy_async;
mod core;
mod defined;
mod format;
#[cfg(all(target_family = "wasm", target_feature = "simd128"))]
pub mod fused;
pub(crate) mod grid;
pub(crate) mod image;
mod initialised;
mod lane;
pub(crate) mod lower;
mod matrix;
mod meeting;
mod objects;
pub(crate) mod output;
mod profile;
pub(crate) mod race;
pub(crate) mod record;
mod recursion;
mod registers;
mod run;
mod simd;
mod space;
mod state_space;
mod straight;
mod texture;
pub(crate) mod timer;
pub(crate) mod trace;
mod traffic;
mod turn;
mod vector;
mod warp;
pub(crate) mod watch;
mod workspace;

pub(crate) use lower::function_address;
