//! The operations, each with its rule for the gradient beside it.

mod elementwise;
mod matmul;
mod operators;
mod reduce;
mod shape;
mod softmax;
