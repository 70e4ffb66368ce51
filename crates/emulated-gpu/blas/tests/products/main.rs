//! Tests that compare products with sums in double precision.

#![allow(unsafe_code, reason = "products take addresses")]

mod buffer;
mod complex;
mod real;
mod rounding;
