//! Special rules for `cvt` (PTX ISA, "Data Movement and Conversion Instructions: cvt").

use crate::program::{Destination, FloatMode, Op, Operand, Rounding, Type, Video};

use super::moves::special_register;
use crate::check::context::Result;
use crate::check::operands::{Check, Width};
use crate::check::types;

const TO_INTEGER: [(&str, Rounding); 4] = [
    ("rni", Rounding::NearestEven),
    ("rzi", Rounding::TowardsZero),
    ("rmi", Rounding::Down),
    ("rpi", Rounding::Up),
];

const ROUNDED: [(&str, Rounding); 4] = crate::check::modifiers::ROUNDINGS;

pub(super) fn cvt(check: &mut Check<'_, '_>) -> Result<Op> {
    if check.modifiers.flag("pack") {
        return pack(check);
    }
    let to = check.modifiers.ty("scalar|f16x2|bf16x2|tf32|e4m3x2|e5m2x2")?;
    match to {
        Type::F16x2 | Type::Bf16x2 | Type::Tf32 | Type::E4m3x2 | Type::E5m2x2 => packed(check, to),
        _ => scalar(check, to),
    }
}

fn scalar(check: &mut Check<'_, '_>, to: Type) -> Result<Op> {
    let from = check.modifiers.ty("scalar")?;
    let precision = |ty| match ty {
        Type::F16 | Type::Bf16 => 0,
        Type::F32 => 1,
        _ => 2,
    };
    let (rounding, integer) = match (types::is_float(to), types::is_float(from)) {
        (false, false) => (None, false),
        (false, true) => (Some(rounding(check, to, from, &TO_INTEGER, &ROUNDED)?), true),
        (true, true) if to == from => (check.modifiers.take_one_of(&TO_INTEGER), true),
        (true, true) if precision(to) > precision(from) => {
            // Widening is exact. A bf16 may have a rounding all the same, which is ignored.
            if from == Type::Bf16 {
                check.modifiers.rounding();
            }
            (None, false)
        }
        _ => (Some(rounding(check, to, from, &ROUNDED, &TO_INTEGER)?), false),
    };
    let single = to == Type::F32 || from == Type::F32;
    // `.relu` and `.satfinite` only exist for conversions from f32 to half precision, rounded to nearest or to
    // zero.
    let halves = matches!(to, Type::F16 | Type::Bf16) && from == Type::F32;
    let halves = halves && !matches!(rounding, Some(Rounding::Down | Rounding::Up));
    let finite = halves && check.modifiers.flag("satfinite");
    let relu = halves && check.modifiers.flag("relu");
    let double = to == Type::F64 || from == Type::F64;
    let flush = single && !finite && !relu;
    // Up to PTX 1.4, conversions from and to f64 don't flush on any target.
    let flush = if double && check.context.module.version <= (1, 4) {
        flush && check.modifiers.flag("ftz")
    } else {
        flush && check.flushes()
    };
    // Between integers, `.sat` clamps to the range of the result type. Floats are clamped to [0, 1].
    let saturate = can_saturate(to, from) && !finite && !relu && check.modifiers.flag("sat");
    check.shape("d, a")?;
    // Conversions from or to bf16 accept no registers wider than the type.
    let exact = to == Type::Bf16 || from == Type::Bf16;
    let width = if exact { Width::Exact } else { Width::Relaxed };
    let d = check.destination_as(0, to, width)?;
    let a = source(check, 1, from, width)?;
    let mode =
        FloatMode { rounding: rounding.unwrap_or(Rounding::NearestEven), flush, saturate, relu };
    let integer = integer && rounding.is_some();
    if finite {
        return Ok(satfinite(check, to, rounding, relu, d, a));
    }
    Ok(Op::Convert { to, from, rounding, integer, mode, d, a, b: None })
}

/// `cvt.satfinite` of one f32: the lower half of the packed conversion, which supports `.satfinite` too.
fn satfinite(
    check: &mut Check<'_, '_>,
    to: Type,
    rounding: Option<Rounding>,
    relu: bool,
    d: Destination,
    a: Operand,
) -> Op {
    let pair = if to == Type::F16 { Type::F16x2 } else { Type::Bf16x2 };
    let both = check.body.register("", Type::B32, check.written.span);
    let nearest = rounding.unwrap_or(Rounding::NearestEven);
    let mode = FloatMode { rounding: nearest, flush: false, saturate: true, relu };
    let (from, zero) = (Type::F32, Operand::Immediate(0));
    let (d_both, b) = (Some(both), Some(a));
    let op = Op::Convert { to: pair, from, rounding, integer: false, mode, d: d_both, a: zero, b };
    check.before.push(op);
    Op::Unpack { ty: Type::B32, parts: vec![d, None], part: Type::B16, a: Operand::Register(both) }
}

/// Whether a value of one type may be out of range of the other, so that `.sat` has an effect.
fn can_saturate(to: Type, from: Type) -> bool {
    if to == Type::Bf16 || from == Type::Bf16 {
        return false;
    }
    if types::is_float(to) || types::is_float(from) {
        return true;
    }
    let signed = |ty| types::class(ty) == types::Class::Signed;
    match (signed(from), signed(to)) {
        (false, true) => to.bits() <= from.bits(),
        (true, false) => true,
        _ => to.bits() < from.bits(),
    }
}

/// Takes a mandatory rounding. `other` are the roundings that the other kinds of conversion have, for the help text.
fn rounding(
    check: &mut Check<'_, '_>,
    to: Type,
    from: Type,
    names: &[(&'static str, Rounding)],
    other: &[(&'static str, Rounding)],
) -> Result<Rounding> {
    if let Some(rounding) = check.modifiers.take_one_of(names) {
        return Ok(rounding);
    }
    let (to, from) = (to.name(), from.name());
    let wrong = other.iter().find(|(name, _)| check.modifiers.has(name));
    let (first, rest): (&str, Vec<String>) =
        (names[0].0, names[1..].iter().map(|(name, _)| format!(".{name}")).collect());
    let message = match wrong {
        Some((name, _)) => format!("`.{name}` is not a rounding from .{from} to .{to}"),
        None => format!("the conversion from .{from} to .{to} needs a rounding"),
    };
    Err(check.error(message, format!("write cvt.{first}.{to}.{from} (or {})", rest.join(", "))))
}

fn source(check: &mut Check<'_, '_>, index: usize, from: Type, width: Width) -> Result<Operand> {
    let written = check.written;
    if let Some(operand) = written.operands.get(index) {
        let node = check.plain_of(operand)?;
        if let Some(special) = special_register(check, node, from)? {
            return Ok(special);
        }
    }
    check.source_as(index, from, width)
}

/// Conversions to packed types (two floats in one register), tf32 and the eight-bit formats.
fn packed(check: &mut Check<'_, '_>, to: Type) -> Result<Op> {
    let eight = matches!(to, Type::E4m3x2 | Type::E5m2x2);
    let wide = matches!(to, Type::F16x2) && check.modifiers.peek_type() != Some(Type::F32);
    let from = check.modifiers.ty(match to {
        Type::F16x2 if wide => "f32|e4m3x2|e5m2x2",
        Type::Tf32 | Type::Bf16x2 | Type::F16x2 => "f32",
        _ => "f32|f16x2",
    })?;
    let names: &[(&str, Rounding)] = match to {
        Type::Tf32 => &[
            ("rna", Rounding::NearestAway),
            ("rn", Rounding::NearestEven),
            ("rz", Rounding::TowardsZero),
        ],
        _ if eight || wide => &ROUNDED[..1],
        _ => &ROUNDED[..2],
    };
    let rounding = rounding(check, to, from, names, &TO_INTEGER)?;
    let away = rounding == Rounding::NearestAway;
    let saturate = if eight {
        check.modifiers.require_one_of("`.satfinite`", &[("satfinite", true)])?
    } else {
        !wide && check.modifiers.flag("satfinite")
    };
    let relu = !away && check.modifiers.flag("relu");
    if to == Type::Tf32 && saturate && !away {
        check.require(100, (8, 6))?;
    }
    // sm_90 introduced these conversions, and a later version of PTX added them to sm_89.
    if (eight || wide) && check.context.module.target == 89 {
        check.require(89, (8, 1))?;
    }
    let two = from == Type::F32 && to != Type::Tf32;
    check.shape(if two { "d, a, b" } else { "d, a" })?;
    let d = check.destination(0, to)?;
    let a = check.source(1, from)?;
    let b = if two { Some(check.source(2, from)?) } else { None };
    let mode = FloatMode { rounding, flush: false, saturate, relu };
    Ok(Op::Convert { to, from, rounding: Some(rounding), integer: false, mode, d, a, b })
}

/// `cvt.pack`: two integers of 32 bits, saturated and packed. For parts narrower than 16 bits, a third operand
/// supplies the remaining bits.
fn pack(check: &mut Check<'_, '_>) -> Result<Op> {
    check.take("sat")?;
    let ty = check.modifiers.require_word("the type of the parts", "u16|s16|u8|s8|u4|s4|u2|s2")?;
    let (signed, bits) = (ty.starts_with('s'), ty[1..].parse().unwrap_or(16));
    check.take("s32 = the type of a and b")?;
    if bits < 16 {
        check.take("b32 = the type of c")?;
    }
    check.shape(if bits < 16 { "d, a, b, c" } else { "d, a, b" })?;
    let d = check.destination(0, Type::U32)?;
    let (a, b) = (check.source(1, Type::S32)?, check.source(2, Type::S32)?);
    let c = if bits < 16 { Some(check.source(3, Type::B32)?) } else { None };
    Ok(Op::Video { form: Video::Pack { bits, signed }, d, a, b, c })
}
