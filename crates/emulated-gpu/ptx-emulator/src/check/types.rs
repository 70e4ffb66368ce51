//! Types: their names, their widths, and which registers may hold them (PTX ISA,
//! "Type Checking of Operands").

use crate::program::Type;

/// Every type that a modifier can name.
const NAMES: [(&str, Type); 25] = [
    ("pred", Type::Pred),
    ("b8", Type::B8),
    ("b16", Type::B16),
    ("b32", Type::B32),
    ("b64", Type::B64),
    ("b128", Type::B128),
    ("u8", Type::U8),
    ("u16", Type::U16),
    ("u32", Type::U32),
    ("u64", Type::U64),
    ("s8", Type::S8),
    ("s16", Type::S16),
    ("s32", Type::S32),
    ("s64", Type::S64),
    ("f16", Type::F16),
    ("f16x2", Type::F16x2),
    ("bf16", Type::Bf16),
    ("bf16x2", Type::Bf16x2),
    ("tf32", Type::Tf32),
    ("f32", Type::F32),
    ("f64", Type::F64),
    ("e4m3x2", Type::E4m3x2),
    ("e5m2x2", Type::E5m2x2),
    ("u16x2", Type::U16x2),
    ("s16x2", Type::S16x2),
];

/// Names of lists of types, by which the syntax of instructions calls them.
const LISTS: [(&str, &str); 7] = [
    ("int", "u16|u32|u64|s16|s32|s64"),
    ("packed", "u16|u32|u64|s16|s32|s64|u16x2|s16x2"),
    ("scalar", "u8|u16|u32|u64|s8|s16|s32|s64|f16|f32|f64|bf16"),
    // What most instructions that move or choose take.
    ("sized", "b16|b32|b64|u16|u32|u64|s16|s32|s64|f32|f64"),
    ("float", "f32|f64|f16|f16x2|bf16|bf16x2"),
    ("half", "f16|f16x2|bf16|bf16x2"),
    // Those whose subnormal numbers `.ftz` makes zeros.
    ("flushed", "f32|f16|f16x2"),
];

/// The names in a list, such as `u32|s32|half`.
pub(super) fn list(names: &'static str) -> impl Iterator<Item = &'static str> {
    let list = |name: &'static str| match name.ends_with(|last: char| last.is_ascii_digit()) {
        // A type, as most are.
        true => name,
        false => LISTS.iter().find(|(list, _)| *list == name).map_or(name, |(_, names)| *names),
    };
    let names = names.split('|').filter(|name| !name.is_empty());
    names.flat_map(move |name| list(name).split('|'))
}

impl Type {
    /// Its name in PTX, without the dot.
    #[must_use]
    pub fn name(self) -> &'static str {
        NAMES.iter().find(|(_, named)| *named == self).map_or("?", |(text, _)| text)
    }

    /// Its width in bytes, in memory.
    #[must_use]
    pub fn bytes(self) -> u64 {
        bytes(self)
    }
}

/// What the bits of a type mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    Predicate,
    Bits,
    Unsigned,
    Signed,
    Float,
}

/// The type of that name (without its dot).
pub(super) fn named(name: &str) -> Option<Type> {
    NAMES.iter().find(|(text, _)| *text == name).map(|(_, ty)| *ty)
}

/// The name of a type, without its dot.
pub(super) fn name(ty: Type) -> &'static str {
    ty.name()
}

/// The width in bits; 1 for a predicate.
pub(super) const fn bits(ty: Type) -> u32 {
    ty.bits()
}

/// The width in bytes of a type in memory.
pub(super) fn bytes(ty: Type) -> u64 {
    u64::from(bits(ty)).div_ceil(8)
}

pub(super) fn class(ty: Type) -> Class {
    match ty {
        Type::Pred => Class::Predicate,
        Type::B8 | Type::B16 | Type::B32 | Type::B64 | Type::B128 => Class::Bits,
        Type::U8 | Type::U16 | Type::U32 | Type::U64 | Type::U16x2 => Class::Unsigned,
        Type::S8 | Type::S16 | Type::S32 | Type::S64 | Type::S16x2 => Class::Signed,
        _ => Class::Float,
    }
}

pub(super) fn is_integer(ty: Type) -> bool {
    matches!(class(ty), Class::Unsigned | Class::Signed)
}

pub(super) fn is_float(ty: Type) -> bool {
    class(ty) == Class::Float
}

/// Whether a register can be an operand of an instruction's type: as wide, and of the same kind or
/// untyped.
pub(super) fn fits(register: Type, wanted: Type) -> bool {
    if bits(register) != bits(wanted) {
        return false;
    }
    match (class(wanted), class(register)) {
        (Class::Predicate, other) => other == Class::Predicate,
        (_, Class::Predicate) => false,
        // As ptxas has it: a pair of halves is as good as bits, except where a float is wanted.
        (Class::Unsigned | Class::Signed, Class::Float) => register == Type::F16x2,
        (Class::Bits, _) | (_, Class::Bits) => true,
        // The packed and the alternate formats live in untyped registers only.
        (Class::Unsigned | Class::Signed, Class::Unsigned | Class::Signed) => {
            !matches!(wanted, Type::U16x2 | Type::S16x2)
        }
        (Class::Float, Class::Float) => register == wanted,
        _ => false,
    }
}

/// Whether a register can be read or written by an `ld`, `st` or `cvt` of a type: it may be wider
/// (PTX ISA, "Operand Size Exceeding Instruction-Type Size").
pub(super) fn fits_relaxed(register: Type, wanted: Type) -> bool {
    if bits(register) <= bits(wanted) {
        return fits(register, wanted);
    }
    match (class(wanted), class(register)) {
        (Class::Predicate, _) | (_, Class::Predicate) => false,
        (Class::Bits, _) | (_, Class::Bits) => true,
        (Class::Unsigned | Class::Signed, Class::Unsigned | Class::Signed) => true,
        (Class::Unsigned | Class::Signed, Class::Float) => register == Type::F16x2,
        _ => false,
    }
}
