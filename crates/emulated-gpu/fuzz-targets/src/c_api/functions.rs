//! The lists of functions that are called, with the kinds of their arguments.
//!
//! Each word after a function's name is an argument. A kind of object (`stream`, `graph`, …) is a handle of an object
//! that exists, was destroyed, or never existed; `+stream` is memory for a new handle. `-layout` is a descriptor that
//! the call destroys: its memory is the client's, so it may not be used afterwards. The other words are those of
//! [`ArgumentKind`](super::argument::ArgumentKind).
//!
//! These functions of the driver are left out:
//!
//! - functions that may wait for a value in memory forever: `cuStreamWaitValue32_v2`, `cuStreamWaitValue64_v2`;
//! - functions that open a file that no other function closes: `cuMemExportToShareableHandle`;
//! - functions that always fail without looking at their arguments (the driver's `api/unsupported.rs`): mipmaps of
//!   texture references, planes of arrays, memory mapped into arrays, memory of several devices, graphics
//!   interoperability, checkpoints, and tensor maps;
//! - most functions with the suffixes `_ptsz` and `_ptds`: each is the same as the function without the suffix, and one
//!   function of each kind (a launch, a copy, a fill, a capture, …) is included.
//!
//! Of NVML's functions, these are left out: most of those that only report that a card doesn't support something (its
//! `api/unsupported.rs`; one for each number of arguments is included); all but two of those in its `api/mode.rs`,
//! which return 0; aliases; and `nvmlErrorString`, which returns a text instead of a status.

/// A function and its arguments per line; `#` begins a heading.
const LIST: &str = include_str!("functions.txt");

/// The signatures of all functions: a name and the kinds of its arguments, separated by spaces.
pub(super) fn signatures() -> Vec<&'static str> {
    LIST.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).collect()
}
