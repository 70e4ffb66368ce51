//! Tests of the public interface of `data`.

mod digits;
mod random;
