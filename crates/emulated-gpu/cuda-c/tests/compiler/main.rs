//! Tests of the compiler through its public interface.

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
