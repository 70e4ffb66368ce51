//! Special rules for surface instructions (PTX ISA, "Surface Instructions").

use super::texture::{FLAT, texture_op};
use crate::check::context::Result;
use crate::check::operands::{Check, Width};
use crate::program::{Atomic, Geometry, Op, OutOfBounds, SurfaceAddress, TextureOp, Type};
use crate::texture::Opaque;

/// How accesses outside the surface are handled: `.trap`, `.clamp` or `.zero`.
fn out_of_bounds_mode(check: &mut Check<'_, '_>) -> Result<OutOfBounds> {
    let modes =
        [("trap", OutOfBounds::Trap), ("clamp", OutOfBounds::Clamp), ("zero", OutOfBounds::Zero)];
    check.modifiers.require_one_of("what to do outside", &modes)
}

fn element_count(check: &mut Check<'_, '_>, ty: Type) -> Result<usize> {
    let count = check.modifiers.take_one_of(&[("v2", 2), ("v4", 4)]).unwrap_or(1);
    if ty.bytes() * count as u64 > 16 {
        return Err(check.error("an access has at most 128 bits", "take fewer elements"));
    }
    Ok(count)
}

/// The surface and the coordinates.
fn address(
    check: &mut Check<'_, '_>,
    index: usize,
    (geometry, outside, formatted): (Geometry, OutOfBounds, bool),
) -> Result<SurfaceAddress> {
    let (surface, more) = check.reference(index, Opaque::Surface)?;
    let at = check.coordinates(more, geometry, Type::S32)?;
    Ok(SurfaceAddress { surface, geometry, at, outside, formatted })
}

/// Returns an error if a vector doesn't have the number of elements that the modifiers give.
fn check_element_count(
    check: &Check<'_, '_>,
    index: usize,
    found: usize,
    wanted: usize,
) -> Result<()> {
    let (message, help) =
        (format!("{found} elements"), format!("`{}` takes {wanted}", check.title()));
    check.reject_operand_if(index, found != wanted, message, help)
}

pub(super) fn suld(check: &mut Check<'_, '_>) -> Result<Op> {
    check.take("b")?;
    let geometry = check.modifiers.require_one_of("a geometry", &FLAT)?;
    check.take("{ca|cg|cs|cv}")?;
    let ty = check.modifiers.ty("b8|b16|b32|b64")?;
    let count = element_count(check, ty)?;
    let outside = out_of_bounds_mode(check)?;
    check.shape("d, a")?;
    let parts = check.parts(0)?;
    check_element_count(check, 0, parts.len(), count)?;
    check.require_same_type(&parts)?;
    let d = check.part_destinations(&parts, ty, Width::Relaxed)?;
    let address = address(check, 1, (geometry, outside, false))?;
    texture_op(TextureOp::Load { address, ty, d })
}

pub(super) fn sust(check: &mut Check<'_, '_>) -> Result<Op> {
    let formatted = check.modifiers.require_one_of("`.b` or `.p`", &[("b", false), ("p", true)])?;
    let geometry = check.modifiers.require_one_of("a geometry", &FLAT)?;
    check.take("{wb|cg|cs|wt}")?;
    let ty = check.modifiers.ty(if formatted { "b32" } else { "b8|b16|b32|b64" })?;
    let count = element_count(check, ty)?;
    let outside = out_of_bounds_mode(check)?;
    check.shape("a, c")?;
    let address = address(check, 0, (geometry, outside, formatted))?;
    let parts = check.parts(1)?;
    check_element_count(check, 1, parts.len(), count)?;
    check.require_same_type(&parts)?;
    let a = check.part_sources(&parts, ty, Width::Relaxed)?;
    texture_op(TextureOp::Store { address, ty, a })
}

pub(super) fn sured(check: &mut Check<'_, '_>) -> Result<Op> {
    let formatted = check.modifiers.require_one_of("`.b` or `.p`", &[("b", false), ("p", true)])?;
    let op = check.modifiers.require_one_of("an operation", &Atomic::NAMED[..5])?;
    let geometry = check.modifiers.require_one_of("a geometry", &FLAT[..3])?;
    let ty = check.modifiers.ty(match (op, formatted) {
        (Atomic::Min | Atomic::Max, true) => "b32|b64",
        (Atomic::And | Atomic::Or, _) | (_, true) => "b32",
        (Atomic::Min | Atomic::Max, false) => "u32|s32|u64|s64",
        _ => "u32|u64|s32",
    })?;
    let outside = out_of_bounds_mode(check)?;
    check.shape("a, c")?;
    let address = address(check, 0, (geometry, outside, formatted))?;
    // The register may be wider than the type, as in a store.
    let a = check.source_as(1, ty, Width::Relaxed)?;
    texture_op(TextureOp::Reduce { address, op, ty, a })
}
