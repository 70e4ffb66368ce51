//! Types and state spaces.

named! {
    /// State spaces (PTX ISA, "State Spaces"), with their names in PTX.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    #[expect(missing_docs, reason = "each is the PTX state space of the same name")]
    pub enum Space {
        Register = ".reg";
        Const = ".const";
        Global = ".global";
        Local = ".local";
        /// `.param`, of an entry or of a call
        Param = ".param";
        /// `.shared` (and `.shared::cta`)
        Shared = ".shared";
        /// No space given: a generic address
        Generic = "generic";
    }
}

named! {
    /// Fundamental types (PTX ISA, "Fundamental Types"), and the packed and alternate floating ones: their PTX names
    /// without the dot, and their widths in bits.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
    #[expect(missing_docs, reason = "each is the PTX type of the same name")]
    pub enum Type, u32 {
        Pred = "pred", 1;
        B8 = "b8", 8;
        B16 = "b16", 16;
        B32 = "b32", 32;
        B64 = "b64", 64;
        B128 = "b128", 128;
        U8 = "u8", 8;
        U16 = "u16", 16;
        U32 = "u32", 32;
        U64 = "u64", 64;
        S8 = "s8", 8;
        S16 = "s16", 16;
        S32 = "s32", 32;
        S64 = "s64", 64;
        F16 = "f16", 16;
        F16x2 = "f16x2", 32;
        Bf16 = "bf16", 16;
        Bf16x2 = "bf16x2", 32;
        Tf32 = "tf32", 32;
        F32 = "f32", 32;
        F64 = "f64", 64;
        E4m3x2 = "e4m3x2", 16;
        E5m2x2 = "e5m2x2", 16;
        U16x2 = "u16x2", 32;
        S16x2 = "s16x2", 32;
    }
}

impl Type {
    /// The name of the type in PTX, without the dot.
    #[must_use]
    pub const fn name(self) -> &'static str {
        Self::NAMED[self as usize].0
    }

    /// The width of a value in bits; 1 for a predicate.
    #[must_use]
    pub const fn bits(self) -> u32 {
        Self::NAMED[self as usize].2
    }

    /// The width of the type in bytes, in memory.
    #[must_use]
    pub fn bytes(self) -> u64 {
        u64::from(self.bits()).div_ceil(8)
    }

    /// The type of a wide product with factors of this type.
    #[must_use]
    pub fn doubled(self) -> Self {
        match self {
            Self::U16 => Self::U32,
            Self::S16 => Self::S32,
            Self::U32 => Self::U64,
            Self::S32 => Self::S64,
            other => other,
        }
    }
}
