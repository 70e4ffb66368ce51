//! The compiler from outside: what it makes of the language, of cudarc's kernels, of errors.

mod accepted;
mod bessel;
mod contraction;
mod corpus;
mod cudarc;
mod fp8;
mod fragments;
mod groups;
mod halves;
mod inline;
mod language;
mod limits;
mod loops;
mod mathematics;
mod messages;
mod mistakes;
mod names;
mod numbers;
mod odd;
mod recursion;
mod refused;
mod templates;

use emulated_gpu_test_support::{kernel, reference};
