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
    /// Rounded up where the sum is not negative.
    Average,
    /// By an amount that is limited to 32, or taken modulo 32 (`.wrap`).
    ShiftLeft {
        wrap: bool,
    },
    ShiftRight {
        wrap: bool,
    },
    /// 1 where it holds.
    Compare(Comparison),
}

/// What is done with the result and the third operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "each is the PTX operation of the same name")]
pub enum VideoSecond {
    /// Nothing: it is the result.
    None,
    Add,
    Min,
    Max,
}

/// A part of a register: this many bits, and which of the parts of that width, from the low end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VideoPart {
    /// 8, 16 or 32.
    pub bits: u32,
    /// From 0.
    pub index: u32,
}

/// `vadd` and its kin, of one element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "named as the ISA names them")]
pub struct ScalarVideo {
    pub operation: VideoOperation,
    /// Whether d (and c), a and b are signed.
    pub signed: [bool; 3],
    pub saturate: bool,
    pub a: VideoPart,
    pub b: VideoPart,
    /// The part that the result takes of the third operand's place; `None` where it takes all.
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
    /// One of the factors is negated; the third operand is.
    pub negate: [bool; 2],
    /// `.po`
    pub plus_one: bool,
    /// `.shr7` and `.shr15`
    pub shift: u32,
    pub saturate: bool,
}

/// `vadd2`, `vadd4` and their kin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "named as the ISA names them")]
pub struct SimdVideo {
    pub operation: VideoOperation,
    /// Whether d, a and b are signed.
    pub signed: [bool; 3],
    pub saturate: bool,
    /// Bits of an element: 16 or 8.
    pub bits: u32,
    /// For each element, from the low end, which of those of a and then of b is taken.
    pub a: [u8; 4],
    pub b: [u8; 4],
    /// Which elements are computed, one bit for each.
    pub mask: u32,
    /// The results are added to the third operand; else they replace its elements.
    pub accumulate: bool,
}

/// A video instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "named as the ISA names them")]
pub enum Video {
    Scalar(ScalarVideo),
    Mad(VideoMad),
    Simd(SimdVideo),
    /// `cvt.pack`, which has the same operands: two numbers limited to this many bits each.
    Pack {
        bits: u32,
        signed: bool,
    },
}
