//! The rules by which each generation adds.

use crate::format::Format;

/// How a generation of tensor cores adds. See the [module](super).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    /// Fraction bits that are kept of each product and of `c`, at the exponent of the largest of
    /// them.
    pub fraction: u32,
    /// The number of products that are added at once.
    pub group: usize,
    /// Fraction bits that are kept of a sum in single precision.
    pub result: u32,
    /// Whether `c` is added (rounded to nearest) to the sum of a group's products, instead of among
    /// them.
    pub late: bool,
    /// The smallest exponent that products are shifted to. The authors found it on 9.0 and 10.0.
    pub least: i32,
}

impl Rules {
    /// The rules of a compute capability, such as 90 for 9.0, for factors of a format. For a format
    /// that only later cards have, these are the rules of the first such card.
    #[must_use]
    pub fn of(capability: u32, format: Format) -> Self {
        let narrow = format == Format::E4m3 || format == Format::E5m2;
        let capability = match format {
            Format::F16 => capability,
            _ if narrow => capability.max(89),
            _ => capability.max(80),
        };
        let least = if capability >= 90 { -133 } else { -1000 };
        let plain = |fraction, group| Self { fraction, group, result: 23, late: false, least };
        let wide = format == Format::Tf32;
        match capability {
            0..80 => plain(23, 4),
            80..90 if narrow => Self { result: 13, ..plain(13, 16) },
            80..90 => plain(24, if wide { 4 } else { 8 }),
            90..100 if narrow => Self { result: 13, ..plain(13, 32) },
            _ if narrow => Self { late: true, ..plain(25, 32) },
            _ => plain(25, if wide { 8 } else { 16 }),
        }
    }
}

/// The format of a sum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sum {
    /// Single precision.
    Single,
    /// Half precision, also passed as an `f32`.
    Half,
}
