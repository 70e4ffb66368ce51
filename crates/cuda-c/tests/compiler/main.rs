//! The compiler from outside: what it makes of the project's kernels, of the language, of errors.

mod against;
mod bessel;
mod common;
mod contraction;
mod groups;
mod kernels;
mod language;
mod loops;
mod mathematics;
mod messages;
mod mistakes;
mod numbers;
mod nvrtc;
mod recursion;
mod templates;
