//! The compiler from outside: what it makes of the project's kernels, of the language, of errors.

mod common;
mod contraction;
mod groups;
mod kernels;
mod language;
mod mathematics;
mod messages;
mod mistakes;
mod templates;
