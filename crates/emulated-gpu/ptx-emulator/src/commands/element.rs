//! The types of arguments and of the elements of buffers.

use std::fmt::Write;
use std::str::FromStr;

use crate::arithmetic::convert;
use crate::arithmetic::convert::{bf16_to_f32, f16_to_f32};
use crate::program::{FloatMode, Type, named};

named! {
    /// The type of an argument or of the elements of a buffer: its name (PTX's without the dot), and its PTX type.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    #[expect(missing_docs, reason = "each is the PTX type of the same name")]
    pub enum Element, Type {
        U8 = "u8", Type::U8;
        U16 = "u16", Type::U16;
        U32 = "u32", Type::U32;
        U64 = "u64", Type::U64;
        S8 = "s8", Type::S8;
        S16 = "s16", Type::S16;
        S32 = "s32", Type::S32;
        S64 = "s64", Type::S64;
        F16 = "f16", Type::F16;
        Bf16 = "bf16", Type::Bf16;
        F32 = "f32", Type::F32;
        F64 = "f64", Type::F64;
    }
}

impl Element {
    /// The size of an element in bytes.
    #[must_use]
    pub fn bytes(self) -> usize {
        self.ty().bytes() as usize
    }

    /// The name, as in PTX without the dot.
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::NAMED[self as usize].0
    }

    /// The type of the element in PTX.
    fn ty(self) -> Type {
        Self::NAMED[self as usize].2
    }

    /// The reason why a number of type `given` (an address if `given` is `None`) doesn't match a parameter of type
    /// `ty`. Untyped parameters (`.b32`) match everything. In handwritten PTX an integer parameter may also be a
    /// floating-point number, because `ld.param` can read it as a floating-point number; `strict` excludes this, for
    /// PTX from a compiler.
    pub(super) fn mismatch(given: Option<Self>, ty: Type, strict: bool) -> Option<String> {
        let is_float = |ty: Type| matches!(ty, Type::F16 | Type::Bf16 | Type::F32 | Type::F64);
        let is_integer = Self::NAMED[..8].iter().any(|(.., known)| *known == ty);
        let name = given.map_or("an address", Self::name);
        if is_float(ty) && given.map(Self::ty) != Some(ty) {
            let known = Self::NAMED.iter().find(|(.., known)| *known == ty);
            let wanted = known.map_or("a floating-point number", |(name, ..)| name);
            return Some(format!("is {name}, but the parameter is {wanted}"));
        }
        if strict && is_integer && given.is_some_and(|given| is_float(given.ty())) {
            return Some(format!("is {name}, but the parameter is an integer or an address"));
        }
        None
    }

    /// Rounds a number to this floating-point type, to nearest.
    fn rounded(self, number: f64) -> Vec<u8> {
        let (ty, bits) = (self.ty(), number.to_bits());
        let mode = FloatMode::NEAREST;
        let bits = convert(ty, Type::F64, Some(mode.rounding), false, mode, bits, None);
        bits.to_le_bytes()[..self.bytes()].to_vec()
    }

    /// Parses a number.
    pub(super) fn parse(self, text: &str) -> Result<Vec<u8>, String> {
        fn number<T: FromStr>(text: &str) -> Result<T, String> {
            text.trim()
                .parse()
                .map_err(|_| format!("`{}` is not a number of this type", text.trim()))
        }
        Ok(match self {
            Self::U8 => number::<u8>(text)?.to_le_bytes().to_vec(),
            Self::U16 => number::<u16>(text)?.to_le_bytes().to_vec(),
            Self::U32 => number::<u32>(text)?.to_le_bytes().to_vec(),
            Self::U64 => number::<u64>(text)?.to_le_bytes().to_vec(),
            Self::S8 => number::<i8>(text)?.to_le_bytes().to_vec(),
            Self::S16 => number::<i16>(text)?.to_le_bytes().to_vec(),
            Self::S32 => number::<i32>(text)?.to_le_bytes().to_vec(),
            Self::S64 => number::<i64>(text)?.to_le_bytes().to_vec(),
            Self::F16 | Self::Bf16 => self.rounded(number::<f64>(text)?),
            Self::F32 => number::<f32>(text)?.to_le_bytes().to_vec(),
            Self::F64 => number::<f64>(text)?.to_le_bytes().to_vec(),
        })
    }

    /// An integer as this type. Narrow types keep the low bits.
    pub(super) fn integer_bytes(self, number: u64) -> Vec<u8> {
        match self {
            Self::F16 | Self::Bf16 => self.rounded(number as f64),
            Self::F32 => (number as f32).to_le_bytes().to_vec(),
            Self::F64 => (number as f64).to_le_bytes().to_vec(),
            _ => number.to_le_bytes()[..self.bytes()].to_vec(),
        }
    }

    /// A number from −1 to 1, or any integer, made from 32 random bits.
    pub(super) fn random(self, bits: u32) -> Vec<u8> {
        // Only 24 bits are used, so that the f32 is exact.
        let unit = f64::from(bits >> 8) / f64::from(1 << 23) - 1.0;
        match self {
            Self::F16 | Self::Bf16 => self.rounded(unit),
            Self::F32 => (unit as f32).to_le_bytes().to_vec(),
            Self::F64 => unit.to_le_bytes().to_vec(),
            _ => self.integer_bytes(u64::from(bits)),
        }
    }

    /// Formats one element in decimal.
    fn format_element(self, bytes: &[u8]) -> String {
        let mut wide = [0; 8];
        wide[..bytes.len()].copy_from_slice(bytes);
        let bits = u64::from_le_bytes(wide);
        match self {
            Self::U8 | Self::U16 | Self::U32 | Self::U64 => bits.to_string(),
            Self::S8 => (bits as u8 as i8).to_string(),
            Self::S16 => (bits as u16 as i16).to_string(),
            Self::S32 => (bits as u32 as i32).to_string(),
            Self::S64 => (bits as i64).to_string(),
            Self::F16 => format!("{:?}", f16_to_f32(bits as u16)),
            Self::Bf16 => format!("{:?}", bf16_to_f32(bits as u16)),
            Self::F32 => format!("{:?}", f32::from_bits(bits as u32)),
            Self::F64 => format!("{:?}", f64::from_bits(bits)),
        }
    }

    /// Formats the first elements of a buffer in decimal, at most `max_elements` of them.
    #[must_use]
    pub fn list(self, bytes: &[u8], max_elements: usize) -> String {
        let mut text = String::new();
        for element in bytes.chunks_exact(self.bytes()).take(max_elements) {
            let _ = write!(text, " {}", self.format_element(element));
        }
        if bytes.len() / self.bytes() > max_elements {
            text.push_str(" …");
        }
        text
    }
}
