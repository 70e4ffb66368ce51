//! The rules by which each generation of tensor cores adds.

use crate::format::Format;

/// The rules by which a generation of tensor cores adds; the [crate](super) explains them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    /// The number of fraction bits to which each product and `c` are truncated, after the shift to
    /// the exponent of the largest of them.
    pub fraction_bits: u32,
    /// The number of products that are added at once.
    pub group: usize,
    /// The number of fraction bits to which a single-precision sum is truncated.
    pub result_bits: u32,
    /// Whether `c` is added (rounded to nearest) to the sum of a group's products, instead of
    /// together with them.
    pub adds_c_last: bool,
    /// The smallest exponent that products are shifted to. The authors of the paper found it on 9.0
    /// and 10.0.
    pub min_exponent: i32,
}

impl Rules {
    /// The rules of a compute capability, such as 90 for 9.0, for factors of a format. For a format
    /// that only later cards have, these are the rules of the first such card.
    #[must_use]
    pub fn new(capability: u32, format: Format) -> Self {
        let is_fp8 = format == Format::E4m3 || format == Format::E5m2;
        let capability = match format {
            Format::F16 => capability,
            _ if is_fp8 => capability.max(89),
            _ => capability.max(80),
        };
        let min_exponent = if capability >= 90 { -133 } else { -1000 };
        let plain = |fraction_bits, group| Self {
            fraction_bits,
            group,
            result_bits: 23,
            adds_c_last: false,
            min_exponent,
        };
        let is_tf32 = format == Format::Tf32;
        match capability {
            0..80 => plain(23, 4),
            80..90 if is_fp8 => Self { result_bits: 13, ..plain(13, 16) },
            80..90 => plain(24, if is_tf32 { 4 } else { 8 }),
            90..100 if is_fp8 => Self { result_bits: 13, ..plain(13, 32) },
            _ if is_fp8 => Self { adds_c_last: true, ..plain(25, 32) },
            _ => plain(25, if is_tf32 { 8 } else { 16 }),
        }
    }

    /// The rules of `mma` with `k` fp8 factors of this format, on a compute capability where it is
    /// computed as products of halves; otherwise `None`. The [crate](super) explains this.
    #[must_use]
    pub fn of_halves(capability: u32, format: Format, k: usize) -> Option<Self> {
        let is_fp8 = format == Format::E4m3 || format == Format::E5m2;
        let rules = Self::new(capability, Format::F16);
        (is_fp8 && (90..100).contains(&capability))
            .then(|| Self { group: rules.group.min(k / 2), ..rules })
    }
}

/// The format of a sum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sum {
    /// Single precision.
    Single,
    /// A sum in half precision, which is passed as an `f32`.
    Half,
}
