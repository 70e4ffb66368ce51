//! The types that all other crates share: a [`Tensor`]; its [`TensorName`], which is the same in
//! PyTorch, NumPy, Rust, CUDA, PTX and the book; the [`Network`], which defines the tensors of a
//! training step and their order of computation; and the [`Dump`], which passes a step's tensors
//! from one program to another as JSON.
//!
//! This crate computes nothing and has few dependencies, because all others depend on it.

mod dump;
mod file_kind;
mod name;
mod network;
mod preset_name;
mod ranks;
mod run;
mod tensor;

pub use dump::{Dtype, Dump, DumpError, DumpedTensor, Header, Samples};
pub use file_kind::{cannot_be_json, cannot_be_safetensors};
pub use name::{ParseNameError, TensorName};
pub use network::{Loss, Network};
pub use preset_name::{FORMER_PRESET_NAMES, current_preset_name, deserialize_preset_name};
pub use ranks::{Assembled, RankDifference};
pub use tensor::{ShapeError, Tensor};
