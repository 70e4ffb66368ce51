//! The functions that are called, and what each of their arguments is.
//!
//! A word stands for an argument. A kind of object (`stream`, `graph`, …) is a handle of one that
//! was made before, is gone already, or never was; `+stream` is a place for a new one. `-layout` is
//! a descriptor that is gone after the call: its memory is the client's, so that nothing may be
//! asked of it any more. The other words are those of [`Word`](super::argument::Word).
//!
//! Left out of the driver:
//!
//! - what waits for a value in memory, which waits for ever: `cuStreamWaitValue32_v2`, `cuStreamWaitValue64_v2`;
//! - what opens files that nobody closes: `cuMemExportToShareableHandle`;
//! - what refuses whatever its arguments are, and never looks at them: the functions of the driver's
//!   `api/unsupported.rs` (mipmaps of texture references, planes of arrays, memory that is mapped into arrays, of
//!   many devices and of graphics libraries, checkpoints, tensor maps);
//! - most of those that end in `_ptsz` and `_ptds`: each is the function without the ending, and for each shape of
//!   them (a launch, a copy, a fill, a capture, …) one is there.
//!
//! Left out of NVML: of those that say only that a card has not what is asked for (its `api/unsupported.rs`), all
//! but one of each number of arguments; of those in its `api/mode.rs`, which all say 0, all but two; second names of
//! the same function; and `nvmlErrorString`, which gives a text and no status.

mod contexts;
mod copies;
mod cublas;
mod graphs;
mod kernels;
mod memory;
mod nvml;
mod textures;

/// The functions of all libraries, by subjects.
pub(super) const SUBJECTS: [&str; 9] = [
    contexts::FUNCTIONS,
    copies::FUNCTIONS,
    graphs::FUNCTIONS,
    kernels::FUNCTIONS,
    memory::FUNCTIONS,
    textures::FUNCTIONS,
    cublas::CUBLAS,
    cublas::CUBLASLT,
    nvml::FUNCTIONS,
];
