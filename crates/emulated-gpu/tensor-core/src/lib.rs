//! A bit-exact model of the tensor cores of NVIDIA's cards: `d = a·b + c` with narrow floating-point factors. The ISA
//! leaves the result open ("accumulation order, rounding and handling of subnormal inputs are unspecified").
//!
//! The model is from Faizan A. Khattak and Mantas Mikaitis, "Accurate Models of NVIDIA Tensor Cores" (arXiv
//! 2512.07004); it reproduces the results that they measured on eight cards. The exact products of a *group* of
//! factors, and `c`, are shifted to the exponent of the largest of them; fraction bits beyond a fixed number are
//! truncated; what remains is added as integers; the sum is truncated to single precision. If there are more factors
//! than a group has, the sum is the `c` of the next group. The group size and the number of bits depend on the
//! generation: [`Rules::new`].
//!
//! | | bits of fraction | group, tf32 | group, fp16 and bf16 | fp8 |
//! |---|---:|---:|---:|---|
//! | 7.0 (V100) | 23 | – | 4 (fp16) | – |
//! | 8.0 (A100), 8.6 (A2) | 24 | 4 | 8 | – |
//! | 8.9 (L40S) | 24 | 4 | 8 | 13 bits kept, also of the sum; groups of 16 |
//! | 9.0 (H100, H200) | 25 | 8 (4 in `wmma`) | 16 | 13 bits kept, also of the sum; groups of 32 |
//! | 10.0 (B200) | 25 | 8 | 16 | 25 bits; groups of 32; `c` is added to the sum, rounded to nearest |
//!
//! On 9.0, only `wgmma` has fp8 factors, and the published results are its. NVIDIA's compiler builds `mma` with fp8
//! factors from products of halves ([`Rules::of_halves`]): of the factors 0 and 1 of each four, then of 2 and 3 of each
//! four, starting from 0; `c` is added last ([`add`]). This, the groups of `wmma`, and infinities and NaN were measured
//! on an H100 with CUDA 13.0.
//!
//! No measurement covers the following, so this model makes a choice: 7.5 behaves like 7.0; on 9.0 the `c` of `wgmma`
//! with fp8 factors is shifted and truncated like a product, as on 8.9 (the published results were measured with `c` =
//! 0); a sum of zeros is +0; the groups of `mma.sp` are counted in factors of `b`, including those multiplied by a zero
//! of `a`. As in the paper, fp16 sums are rounded to nearest once a group. A NaN among the products and `c`, or
//! infinities of both signs, give the NaN 0x7fffffff (0x7fff in half precision); infinities of one sign give that
//! infinity; an overflowing sum gives an infinity.
//!
//! [`dot`] is the reference model of one sum. [`multiply`] computes the tile of an `mma`, eight columns at a time.
//! [`Strip::sum`] multiplies a row of one matrix by sixteen columns of another, of any length; the emulated libraries
//! of matrix products use it.

mod dot;
mod format;
mod parts;
mod rules;
mod strip;
mod tile;

pub use dot::dot;
pub use format::Format;
pub use parts::add;
pub use rules::{Rules, Sum};
pub use strip::{Line, Strip, WIDTH};
pub use tile::{COLUMNS, multiply};
