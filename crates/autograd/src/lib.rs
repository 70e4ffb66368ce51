//! A small reverse-mode automatic differentiation engine on tensors.
//!
//! ```
//! use autograd::Tensor;
//!
//! let w = Tensor::new([2, 1], vec![0.5, -1.0]).requires_grad();
//! let x = Tensor::new([3, 2], vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
//! let loss = x.matmul(&w).tanh().mean();
//! loss.backward()?;
//! assert_eq!(w.grad()?.expect("a parameter has a gradient").shape(), [2, 1]);
//! # Ok::<(), autograd::Error>(())
//! ```
//!
//! The files, in the best order for reading: `layout` (views), `array` (values
//! without gradients), `tensor` (values that remember how they were computed), `ops` (operations,
//! each with the rule for its gradient), `backward` (the engine). `buffer` is the only file that
//! distinguishes devices.

mod array;
mod backward;
mod buffer;
mod cpu;
mod cuda;
mod device;
mod element;
mod error;
mod function;
pub mod graph;
mod in_place;
mod layout;
pub mod level;
pub mod loss;
mod module;
mod no_grad;
mod ops;
mod save;
mod tensor;

pub use array::Array;
pub use cuda::Cuda;
pub use device::{Choice, Device};
pub use element::Element;
pub use error::{Error, ErrorKind, Result};
pub use module::{Activation, Linear, Mlp, Module, Sgd};
pub use no_grad::no_grad;
pub use save::{load, save};
pub use tensor::Tensor;
