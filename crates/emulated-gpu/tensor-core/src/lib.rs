//! What the matrix units of NVIDIA's cards answer, to the bit: `d = a·b + c` of narrow
//! floating-point factors, which the ISA leaves open ("accumulation order, rounding and handling of
//! subnormal inputs are unspecified").
//!
//! The model is that of Faizan A. Khattak and Mantas Mikaitis, "Accurate Models of NVIDIA Tensor
//! Cores" (arXiv 2512.07004), whose measured answers of eight cards it gives back. The exact products
//! of a *group* of factors and `c` are shifted until they have the exponent of the largest of them;
//! what then stands beyond this many bits of fraction is cut off; they are added as integers; the sum is
//! cut off to single precision. Where there are more factors than the group has, the sum is the next
//! group's `c`. How large a group is, and how many bits are kept, is a matter of the generation:
//! [`Rules::of`].
//!
//! | | bits of fraction | group, tf32 | group, fp16 and bf16 | fp8 |
//! |---|---:|---:|---:|---|
//! | 7.0 (V100) | 23 | – | 4 (fp16) | – |
//! | 8.0 (A100), 8.6 (A2) | 24 | 4 | 8 | – |
//! | 8.9 (L40S) | 24 | 4 | 8 | 13 bits kept, of the sum too; groups of 16 |
//! | 9.0 (H100, H200) | 25 | 8 | 16 | 13 bits kept, of the sum too; groups of 32 |
//! | 10.0 (B200) | 25 | 8 | 16 | 25 bits; groups of 32; `c` is added to the sum, to nearest |
//!
//! What no measurement says, and is decided here: 7.5 is taken for a 7.0; on 9.0 the `c` of fp8
//! factors is shifted and cut off like a product, as it is on 8.9 (the published answers were measured
//! with `c` = 0); a sum of zeros is +0; the groups of `mma.sp` are counted in the factors of `b`,
//! those that meet a zero of `a` included. Sums of fp16 are rounded to nearest once a group, as the
//! authors have it. A NaN among products and `c`, or infinities of both signs, give the NaN
//! 0x7fffffff (0x7fff in half precision), infinities of one sign themselves; a sum too great is an
//! infinity.
//!
//! [`dot`] is the model in full, of one sum; [`multiply`] the same of the tile of an `mma`, eight columns
//! side by side; [`Strip::sum`] of one row of a matrix with sixteen columns of another, as long as they may
//! be, which is what a library of matrix products is made of.

mod dot;
mod format;
mod parts;
mod rules;
mod strip;
mod tile;

pub use dot::dot;
pub use format::Format;
pub use rules::{Rules, Sum};
pub use strip::{Line, Strip, WIDTH};
pub use tile::{COLUMNS, multiply};
