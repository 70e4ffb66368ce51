//! The engine: lowers a kernel to steps, and runs them.
//!
//! A launch is a [`grid`] of [`block`]s of [`warp`]s. A warp of 32 lanes runs in lockstep; its
//! [`registers`] are rows of 32 words. Lanes that diverge become splits of the warp, which
//! reconverge where they meet. [`run`] is the main loop, [`vector`] and [`simd`] are the hot
//! operations, [`access`] and [`space`] access memory, and [`lower`] creates the steps.
//!
//! The modules form layers; each only imports from the modules before it in this list.
//! [`registers`], [`lane`], [`state_space`] and [`image`] are data; [`race`] and [`core`] are the
//! state that a step may access; [`access`], [`atomics`], [`collective`], [`matrix`],
//! [`asynchronous`] and others each implement one kind of step; [`code`] defines the steps;
//! [`vector`] and [`simd`] compute; [`lower`] creates steps, and [`run`], [`block`] and [`grid`]
//! run them.

mod access;
mod arrival;
mod asynchronous;
mod atomics;
mod barrier;
mod block;
mod builtin;
pub(crate) mod code;
mod collective;
mod convergence;
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
