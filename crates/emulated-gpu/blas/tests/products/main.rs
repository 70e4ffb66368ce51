//! Products compared with sums computed here in double precision.

#![allow(unsafe_code, reason = "products take addresses")]

mod buffer;
mod complex;
mod real;
mod rounding;
