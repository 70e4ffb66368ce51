//! PTX on the CPU: reads it, checks it, runs it warp by warp, and checks every access.

pub mod arithmetic;
pub mod program;
pub mod source;
