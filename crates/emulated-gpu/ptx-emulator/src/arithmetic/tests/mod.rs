//! Tests of the arithmetic: against values from the ISA, and against exact arithmetic.

mod apfloat;
mod approximate;
mod bit_field;
mod compare;
mod convert;
mod float;
mod half;
mod integer;
mod narrow_floats;
mod oracle;
mod rounding;

use emulated_gpu_test_support::random;
