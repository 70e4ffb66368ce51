//! The compiler from outside: what it makes of the project's kernels, of the language, of errors.

mod accepted;
mod against;
mod bessel;
mod common;
mod contraction;
mod corpus;
mod everywhere;
mod fp8;
mod fragments;
mod groups;
mod halves;
mod inline;
mod kernels;
mod language;
mod limits;
mod loops;
mod mathematics;
mod messages;
mod mistakes;
mod names;
mod numbers;
mod nvrtc;
mod odd;
mod recursion;
mod refused;
mod templates;
