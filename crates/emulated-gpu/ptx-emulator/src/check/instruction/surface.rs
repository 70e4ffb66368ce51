//! Surface instructions (PTX ISA, "Surface Instructions").

use super::texture::{FLAT, done};
use crate::check::context::Result;
use crate::check::operands::{Check, Width};
use crate::diagnostic::Problem;
use crate::program::{Atomic, Geometry, Op, Outside, SurfaceAddress, TextureOp, Type};
use crate::texture::Opaque;

/// The types of unformatted loads and stores.
const BITS: [Type; 4] = [Type::B8, Type::B16, Type::B32, Type::B64];

/// `.trap`, `.clamp`, `.zero`
fn outside(check: &mut Check<'_, '_>) -> Result<Outside> {
    let modes = [("trap", Outside::Trap), ("clamp", Outside::Clamp), ("zero", Outside::Zero)];
    check.modifiers.need("what to do outside", &modes)
}

fn vector(check: &mut Check<'_, '_>, ty: Type) -> Result<usize> {
    let count = check.modifiers.pick(&[("v2", 2), ("v4", 4)]).unwrap_or(1);
    if ty.bytes() * count as u64 > 16 {
        return Err(Problem::new(check.name_span(), "an access has at most 128 bits")
            .help("take fewer elements"));
    }
    Ok(count)
}

/// The surface, and where in it.
fn address(
    check: &mut Check<'_, '_>,
    index: usize,
    (geometry, outside, formatted): (Geometry, Outside, bool),
) -> Result<SurfaceAddress> {
    let (surface, more) = check.reference(index, Opaque::Surface)?;
    let at = check.coordinates(more, geometry, Type::S32)?;
    Ok(SurfaceAddress { surface, geometry, at, outside, formatted })
}

/// That a vector has as many elements as the instruction says.
fn counted(check: &Check<'_, '_>, index: usize, found: usize, wanted: usize) -> Result<()> {
    if found == wanted {
        return Ok(());
    }
    let span = check.operand(index)?.span;
    Err(Problem::new(span, format!("{found} elements"))
        .help(format!("`{}` takes {wanted}", check.title())))
}

pub(super) fn suld(check: &mut Check<'_, '_>) -> Result<Op> {
    check.modifiers.need("`.b`", &[("b", ())])?;
    let geometry = check.modifiers.need("a geometry", &FLAT)?;
    check.modifiers.pick(&[("ca", ()), ("cg", ()), ("cs", ()), ("cv", ())]);
    let ty = check.modifiers.ty(&BITS)?;
    let count = vector(check, ty)?;
    let outside = outside(check)?;
    check.shape("d, a")?;
    let parts = check.parts(0)?;
    counted(check, 0, parts.len(), count)?;
    check.same_parts(&parts)?;
    let d = parts
        .iter()
        .map(|part| check.part_destination(part, ty, Width::Relaxed))
        .collect::<Result<_>>()?;
    let address = address(check, 1, (geometry, outside, false))?;
    done(TextureOp::Load { address, ty, d })
}

pub(super) fn sust(check: &mut Check<'_, '_>) -> Result<Op> {
    let formatted = check.modifiers.need("`.b` or `.p`", &[("b", false), ("p", true)])?;
    let geometry = check.modifiers.need("a geometry", &FLAT)?;
    check.modifiers.pick(&[("wb", ()), ("cg", ()), ("cs", ()), ("wt", ())]);
    let ty = check.modifiers.ty(if formatted { &BITS[2..3] } else { &BITS })?;
    let count = vector(check, ty)?;
    let outside = outside(check)?;
    check.shape("a, c")?;
    let address = address(check, 0, (geometry, outside, formatted))?;
    let parts = check.parts(1)?;
    counted(check, 1, parts.len(), count)?;
    check.same_parts(&parts)?;
    let a = parts
        .iter()
        .map(|part| check.part_source(part, ty, Width::Relaxed))
        .collect::<Result<_>>()?;
    done(TextureOp::Store { address, ty, a })
}

pub(super) fn sured(check: &mut Check<'_, '_>) -> Result<Op> {
    let formatted = check.modifiers.need("`.b` or `.p`", &[("b", false), ("p", true)])?;
    let operations = [
        ("add", Atomic::Add),
        ("min", Atomic::Min),
        ("max", Atomic::Max),
        ("and", Atomic::And),
        ("or", Atomic::Or),
    ];
    let op = check.modifiers.need("an operation", &operations)?;
    let geometry = check.modifiers.need("a geometry", &FLAT[..3])?;
    let types: &[Type] = match (op, formatted) {
        (Atomic::Min | Atomic::Max, true) => &[Type::B32, Type::B64],
        (Atomic::And | Atomic::Or, _) | (_, true) => &[Type::B32],
        (Atomic::Min | Atomic::Max, false) => &[Type::U32, Type::S32, Type::U64, Type::S64],
        _ => &[Type::U32, Type::U64, Type::S32],
    };
    let ty = check.modifiers.ty(types)?;
    let outside = outside(check)?;
    check.shape("a, c")?;
    let address = address(check, 0, (geometry, outside, formatted))?;
    // It may be wider, as that of a store may be.
    let a = check.source_as(1, ty, Width::Relaxed)?;
    done(TextureOp::Reduce { address, op, ty, a })
}
