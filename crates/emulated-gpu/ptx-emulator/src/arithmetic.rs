//! The arithmetic of PTX, on the bits of one lane.
//!
//! Pure functions without state. Each family has a general function for all types and modifiers,
//! which takes values as bits in a u64. Narrow values are zero-extended; bits above a type's width
//! are ignored:
//!
//! | instructions | function |
//! |---|---|
//! | integer, logic, shift | [`int_binary`], [`int_unary`], [`int_mad`], [`carry`], [`sad`] |
//! | bit fields, bytes | [`bit_extract`], [`bit_insert`], [`find_nth_set`], [`lop3`], [`funnel_shift`], [`permute`], [`dot_product`] |
//! | f16, f16x2, bf16, bf16x2, f32, f64 | [`float_binary`], [`float_unary`], [`fma`] |
//! | `cvt` | [`convert()`] |
//! | `vadd` and similar, `cvt.pack` | [`video`] |
//! | `mma`, `wmma` of integers, bits and doubles | [`inner_product`]; of narrower numbers, the crate [`tensor_core`] |
//! | `setp`, `set`, `slct`, `testp` | [`compare()`], [`compare_both`], [`combine`], [`set_value`], [`select_by_sign`], [`test_property`] |
//!
//! For the common instructions there are also small functions on Rust's own types, meant to be
//! inlined into loops over lanes: f32 and f64 to nearest in [`host`], halves in [`half`], 32-bit
//! integers in [`integer`], conversions in [`mod@convert`], approximations in [`approximate`]. Both
//! ways give the same bits on all platforms. No function of the C library is called, except for
//! fused multiply-adds on processors without such an instruction; these are exact.
//!
//! Where the ISA leaves something open, a comment gives the choice made here. No argument causes a
//! panic; for combinations that the checker rejects, each function documents what it returns.

pub(crate) mod approximate;
pub(crate) mod bit_field;
pub(crate) mod bits;
pub(crate) mod compare;
pub(crate) mod convert;
pub(crate) mod float;
pub(crate) mod format;
pub(crate) mod half;
pub(crate) mod host;
pub(crate) mod inner_product;
pub(crate) mod integer;
pub(crate) mod soft;
#[cfg(test)]
pub(crate) mod tests;
mod video;

pub(crate) use bit_field::{
    bit_extract, bit_insert, dot_product, find_nth_set, funnel_shift, lop3, permute,
};
pub(crate) use compare::{
    combine, compare, compare_both, select_by_sign, set_value, test_property,
};
pub(crate) use convert::convert;
pub(crate) use float::{float_binary, float_unary, fma};
pub(crate) use integer::{carry, int_binary, int_mad, int_unary, sad};
pub(crate) use video::video;
