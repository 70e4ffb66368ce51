//! The operations, each together with the rule for its gradient.

mod elementwise;
mod matmul;
mod operators;
mod reduce;
mod shape;
mod softmax;
