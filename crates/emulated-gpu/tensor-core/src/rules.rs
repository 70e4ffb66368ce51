//! The rules of each generation.

use crate::format::Format;

/// How a generation of matrix units adds. See the [module](super).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    /// Bits of fraction that are kept of each product, and of `c`, at the exponent of the largest.
    pub fraction: u32,
    /// Products that are added at once.
    pub group: usize,
    /// Bits of fraction that are kept of a sum in single precision.
    pub result: u32,
    /// `c` is added to the sum of a group's products, rounded to nearest, and not among them.
    pub late: bool,
    /// Products are shifted to no smaller exponent. The authors found it on 9.0 and 10.0.
    pub least: i32,
}

impl Rules {
    /// Those of a card's compute capability, such as 90 for 9.0, for factors of a format. A format that
    /// came with a later card has the rules of that one.
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

/// What a sum becomes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sum {
    /// Single precision.
    Single,
    /// Half precision, here too in an `f32`.
    Half,
}
