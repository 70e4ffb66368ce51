//! Types and state spaces.

/// State spaces (PTX ISA, "State Spaces").
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Space {
    /// `.reg`
    Register,
    /// `.const`
    Const,
    /// `.global`
    Global,
    /// `.local`
    Local,
    /// `.param`, of an entry or of a call
    Param,
    /// `.shared` (and `.shared::cta`)
    Shared,
    /// No space given: a generic address
    Generic,
}

/// Fundamental types (PTX ISA, "Fundamental Types"), and the packed and alternate floating-point
/// types.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[expect(missing_docs, reason = "each is the PTX type of the same name")]
pub enum Type {
    Pred,
    B8,
    B16,
    B32,
    B64,
    B128,
    U8,
    U16,
    U32,
    U64,
    S8,
    S16,
    S32,
    S64,
    F16,
    F16x2,
    Bf16,
    Bf16x2,
    Tf32,
    F32,
    F64,
    E4m3x2,
    E5m2x2,
    U16x2,
    S16x2,
}

/// The types in order, with their PTX names without the dot, and their widths in bits.
pub(crate) const TYPES: [(&str, Type, u32); 25] = [
    ("pred", Type::Pred, 1),
    ("b8", Type::B8, 8),
    ("b16", Type::B16, 16),
    ("b32", Type::B32, 32),
    ("b64", Type::B64, 64),
    ("b128", Type::B128, 128),
    ("u8", Type::U8, 8),
    ("u16", Type::U16, 16),
    ("u32", Type::U32, 32),
    ("u64", Type::U64, 64),
    ("s8", Type::S8, 8),
    ("s16", Type::S16, 16),
    ("s32", Type::S32, 32),
    ("s64", Type::S64, 64),
    ("f16", Type::F16, 16),
    ("f16x2", Type::F16x2, 32),
    ("bf16", Type::Bf16, 16),
    ("bf16x2", Type::Bf16x2, 32),
    ("tf32", Type::Tf32, 32),
    ("f32", Type::F32, 32),
    ("f64", Type::F64, 64),
    ("e4m3x2", Type::E4m3x2, 16),
    ("e5m2x2", Type::E5m2x2, 16),
    ("u16x2", Type::U16x2, 32),
    ("s16x2", Type::S16x2, 32),
];

impl Type {
    /// The name of the type in PTX, without the dot.
    #[must_use]
    pub const fn name(self) -> &'static str {
        TYPES[self as usize].0
    }

    /// The width of a value in bits; 1 for a predicate.
    #[must_use]
    pub const fn bits(self) -> u32 {
        TYPES[self as usize].2
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_has_the_order_of_the_types() {
        assert!(TYPES.iter().enumerate().all(|(index, (_, ty, _))| *ty as usize == index));
    }
}
