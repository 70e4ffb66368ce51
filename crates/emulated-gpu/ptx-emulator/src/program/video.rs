//! Operations of the video instructions (PTX ISA, "Scalar Video Instructions" and "SIMD Video Instructions").

use super::modes::Comparison;

/// The operation on two elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "each is the PTX instruction of the same name")]
pub enum VideoOperation {
    Add,
    Subtract,
    AbsoluteDifference,
    Min,
    Max,
    /// Rounded up if the sum is not negative.
    Average,
    /// The shift amount is clamped to 32, or taken modulo 32 (`.wrap`).
    ShiftLeft {
        wrap: bool,
    },
    ShiftRight {
        wrap: bool,
    },
    /// 1 if the comparison holds, otherwise 0.
    Compare(Comparison),
}

/// The second operation, on the result and the third operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "each is the PTX operation of the same name")]
pub enum VideoSecond {
    /// None.
    None,
    Add,
    Min,
    Max,
}

/// A part of a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VideoPart {
    /// The width of the part in bits: 8, 16 or 32.
    pub bits: u32,
    /// The index of the part among the parts of that width, counted from the low end.
    pub index: u32,
}

/// `vadd` and similar, on one element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "named as the ISA names them")]
pub struct ScalarVideo {
    pub operation: VideoOperation,
    /// Whether d (and c), a and b are signed.
    pub signed: [bool; 3],
    pub saturate: bool,
    pub a: VideoPart,
    pub b: VideoPart,
    /// The part of the third operand that the result replaces; `None` if it replaces all.
    pub d: Option<VideoPart>,
    pub second: VideoSecond,
}

/// `vmad`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "named as the ISA names them")]
pub struct VideoMad {
    /// Whether a and b are signed.
    pub signed: [bool; 2],
    pub a: VideoPart,
    pub b: VideoPart,
    /// Whether one of the factors is negated, and whether the third operand is.
    pub negate: [bool; 2],
    /// `.po`
    pub plus_one: bool,
    /// `.shr7` and `.shr15`
    pub shift: u32,
    pub saturate: bool,
}

/// `vadd2`, `vadd4` and similar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "named as the ISA names them")]
pub struct SimdVideo {
    pub operation: VideoOperation,
    /// Whether d, a and b are signed.
    pub signed: [bool; 3],
    pub saturate: bool,
    /// The width of an element in bits: 16 or 8.
    pub bits: u32,
    /// For each element, from the low end, the index of its source among the elements of a, followed by the elements of
    /// b.
    pub a: [u8; 4],
    pub b: [u8; 4],
    /// The elements that are computed, one bit for each.
    pub mask: u32,
    /// Whether the results are added to the third operand. Otherwise they replace its elements.
    pub accumulate: bool,
}

/// A video instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "named as the ISA names them")]
pub enum Video {
    Scalar(ScalarVideo),
    Mad(VideoMad),
    Simd(SimdVideo),
    /// `cvt.pack`, which packs two numbers, each saturated to this width.
    Pack {
        bits: u32,
        signed: bool,
    },
}
