//! Types: their names, their widths, and which registers may hold them (PTX ISA,
//! "Type Checking of Operands").

use crate::program::Type;

/// Named lists of types, used in the syntax of instructions.
const LISTS: [(&str, &str); 7] = [
    ("int", "u16|u32|u64|s16|s32|s64"),
    ("packed", "u16|u32|u64|s16|s32|s64|u16x2|s16x2"),
    ("scalar", "u8|u16|u32|u64|s8|s16|s32|s64|f16|f32|f64|bf16"),
    // The types of most move and select instructions.
    ("sized", "b16|b32|b64|u16|u32|u64|s16|s32|s64|f32|f64"),
    ("float", "f32|f64|f16|f16x2|bf16|bf16x2"),
    ("half", "f16|f16x2|bf16|bf16x2"),
    // The types that `.ftz` applies to.
    ("flushed", "f32|f16|f16x2"),
];

/// The names in a list, such as `u32|s32|half`.
pub(super) fn expand_list(names: &'static str) -> impl Iterator<Item = &'static str> {
    let list = |name: &'static str| match name.ends_with(|last: char| last.is_ascii_digit()) {
        // A single type, because its name ends in a digit.
        true => name,
        false => LISTS.iter().find(|(list, _)| *list == name).map_or(name, |(_, names)| *names),
    };
    let names = names.split('|').filter(|name| !name.is_empty());
    names.flat_map(move |name| list(name).split('|'))
}

/// How the bits of a type are interpreted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    Predicate,
    Bits,
    Unsigned,
    Signed,
    Float,
}

/// The type of that name (without its dot).
pub(super) fn type_named(name: &str) -> Option<Type> {
    Type::NAMED.iter().find(|(text, ..)| *text == name).map(|(_, ty, _)| *ty)
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

/// Whether a register can be an operand of an instruction with this type: it must have the same width, and the
/// same kind or no type.
pub(super) fn fits(register: Type, wanted: Type) -> bool {
    if register.bits() != wanted.bits() {
        return false;
    }
    match (class(wanted), class(register)) {
        (Class::Predicate, other) => other == Class::Predicate,
        (_, Class::Predicate) => false,
        // As in ptxas, a pair of halves counts as untyped, except where a float is expected.
        (Class::Unsigned | Class::Signed, Class::Float) => register == Type::F16x2,
        (Class::Bits, _) | (_, Class::Bits) => true,
        // The packed and the alternate formats are only held in untyped registers.
        (Class::Unsigned | Class::Signed, Class::Unsigned | Class::Signed) => {
            !matches!(wanted, Type::U16x2 | Type::S16x2)
        }
        (Class::Float, Class::Float) => register == wanted,
        _ => false,
    }
}

/// Whether a register can be the operand of an `ld`, `st` or `cvt` with this type. It may be wider than the
/// type (PTX ISA, "Operand Size Exceeding Instruction-Type Size").
pub(super) fn fits_relaxed(register: Type, wanted: Type) -> bool {
    if register.bits() <= wanted.bits() {
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
