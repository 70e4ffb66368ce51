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

use crate::program::{Approximate, Comparison, FloatBinary, FloatMode};
use emulated_gpu_test_support::random;

/// The bits of an f32: the canonical NaN, infinity, and the sign.
const NAN: u64 = 0x7fff_ffff;
const INF: u64 = 0x7f80_0000;
const SIGN: u64 = 0x8000_0000;

const DIV: FloatBinary = FloatBinary::Div { approximate: Approximate::No };
const MIN: FloatBinary = FloatBinary::Min { nan: false, xorsign_abs: false };
const MAX: FloatBinary = FloatBinary::Max { nan: false, xorsign_abs: false };

const PLAIN: FloatMode = FloatMode::NEAREST;
const FLUSH: FloatMode = FloatMode { flush: true, ..PLAIN };
const RELU: FloatMode = FloatMode { relu: true, ..PLAIN };
const SATURATE: FloatMode = FloatMode { saturate: true, ..PLAIN };

pub(crate) const COMPARISONS: [Comparison; 14] = [
    Comparison::Eq,
    Comparison::Ne,
    Comparison::Lt,
    Comparison::Le,
    Comparison::Gt,
    Comparison::Ge,
    Comparison::Equ,
    Comparison::Neu,
    Comparison::Ltu,
    Comparison::Leu,
    Comparison::Gtu,
    Comparison::Geu,
    Comparison::Num,
    Comparison::Nan,
];

fn bits(x: f32) -> u64 {
    u64::from(x.to_bits())
}
