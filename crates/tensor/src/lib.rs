//! The vocabulary that every other crate shares: a [`Tensor`], the [`TensorName`] it goes by in
//! PyTorch, NumPy, Rust, CUDA, PTX and the book alike, the [`Network`] that says which tensors
//! exist and in which order they are computed, and the [`Dump`] that carries them from one
//! program to another as JSON.
//!
//! Nothing here computes: this crate sits at the bottom of the house, and has few dependencies.

mod dump;
mod name;
mod network;
mod plausible;
mod preset_name;
mod ranks;
mod run;
mod tensor;

pub use dump::{Dtype, Dump, DumpError, DumpedTensor, Header, Samples};
pub use name::{ParseNameError, TensorName};
pub use network::{Loss, Network};
pub use plausible::{is_enough_of_json, is_enough_of_safetensors};
pub use preset_name::{FORMER_PRESET_NAMES, current_preset_name, deserialize_preset_name};
pub use ranks::{Assembled, RankDifference};
pub use tensor::{ShapeError, Tensor};
