//! Data as the levels get it.

mod digits;
mod random;
