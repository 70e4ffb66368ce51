//! Floating-point formats: the layout of their bits, and special encodings.

use crate::program::Type;

/// A binary floating-point format: a sign, an exponent and a fraction, from the top.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Format {
    exponent_bits: u32,
    pub(super) fraction_bits: u32,
    /// Whether the largest exponent is reserved for infinities and NaNs, as in IEEE 754. Otherwise
    /// only the largest encoding is NaN, and there are no infinities.
    pub(super) ieee: bool,
}

impl Format {
    /// IEEE half precision.
    pub(crate) const F16: Self = Self::ieee(5, 10);
    /// The upper half of [`Format::F32`].
    pub(crate) const BF16: Self = Self::ieee(8, 7);
    /// The 19 bits of `.tf32`, which are the upper bits of a 32-bit register.
    pub(crate) const TF32: Self = Self::ieee(8, 10);
    /// IEEE single precision.
    pub(crate) const F32: Self = Self::ieee(8, 23);
    /// IEEE double precision.
    pub(crate) const F64: Self = Self::ieee(11, 52);
    /// `.e4m3`: no infinities; NaN is 0x7f; the largest number is 448.
    pub(crate) const E4M3: Self = Self { exponent_bits: 4, fraction_bits: 3, ieee: false };
    /// `.e5m2`: the largest number is 57344.
    pub(crate) const E5M2: Self = Self::ieee(5, 2);
    /// The upper half of a double, used by `rcp.approx.ftz.f64` and `rsqrt.approx.ftz.f64`.
    pub(crate) const F64_UPPER: Self = Self::ieee(11, 20);

    const fn ieee(exponent_bits: u32, fraction_bits: u32) -> Self {
        Self { exponent_bits, fraction_bits, ieee: true }
    }

    /// The format of a floating-point type, or of one element of a packed type; `None` for integers
    /// and bits.
    #[inline]
    pub(crate) const fn from_type(ty: Type) -> Option<Self> {
        match ty {
            Type::F16 | Type::F16x2 => Some(Self::F16),
            Type::Bf16 | Type::Bf16x2 => Some(Self::BF16),
            Type::Tf32 => Some(Self::TF32),
            Type::F32 => Some(Self::F32),
            Type::F64 => Some(Self::F64),
            Type::E4m3x2 => Some(Self::E4M3),
            Type::E5m2x2 => Some(Self::E5M2),
            _ => None,
        }
    }

    /// The sign bit.
    #[inline]
    pub(crate) const fn sign(self) -> u64 {
        1 << (self.exponent_bits + self.fraction_bits)
    }

    /// A mask of all bits except the sign.
    #[inline]
    pub(crate) const fn magnitude(self) -> u64 {
        self.sign() - 1
    }

    /// 1.0
    #[inline]
    pub(crate) const fn one(self) -> u64 {
        (self.bias() as u64) << self.fraction_bits
    }

    /// +∞; in `.e4m3`, which has no infinity, NaN.
    #[inline]
    pub(crate) const fn infinity(self) -> u64 {
        if self.ieee { self.magnitude() & !(self.min_normal() - 1) } else { self.magnitude() }
    }

    /// The largest finite number.
    #[inline]
    pub(crate) const fn max_finite(self) -> u64 {
        self.infinity() - 1
    }

    /// The smallest positive normal number.
    #[inline]
    pub(crate) const fn min_normal(self) -> u64 {
        1 << self.fraction_bits
    }

    /// The NaN that an operation without NaN operands returns: 0x7fff for halves, 0x7fffffff for
    /// f32 ("Single-precision instructions return an unspecified NaN"; in practice it is
    /// 0x7fffffff), 0xfff8000000000000 for f64.
    #[inline]
    pub(crate) const fn nan(self) -> u64 {
        if self.fraction_bits == 52 { 0xfff8_0000_0000_0000 } else { self.magnitude() }
    }

    /// Whether these bits are a NaN.
    #[inline]
    pub(crate) const fn is_nan(self, bits: u64) -> bool {
        if self.ieee {
            bits & self.magnitude() > self.infinity()
        } else {
            bits & self.magnitude() == self.magnitude()
        }
    }

    /// `.ftz`: returns a zero with the sign of `bits` if `bits` are a subnormal number, otherwise
    /// `bits`.
    #[inline]
    pub(crate) const fn flush(self, bits: u64) -> u64 {
        if bits & self.magnitude() < self.min_normal() { bits & self.sign() } else { bits }
    }

    /// An integer with the same order as the values, with −0 and +0 equal. Not defined for NaN.
    #[inline]
    pub(crate) const fn order(self, bits: u64) -> i64 {
        let magnitude = (bits & self.magnitude()) as i64;
        if bits & self.sign() != 0 { -magnitude } else { magnitude }
    }

    const fn bias(self) -> i32 {
        (1 << (self.exponent_bits - 1)) - 1
    }

    /// The exponent of the last bit of a subnormal number.
    pub(super) const fn min_exponent(self) -> i32 {
        1 - self.bias() - self.fraction_bits as i32
    }
}
