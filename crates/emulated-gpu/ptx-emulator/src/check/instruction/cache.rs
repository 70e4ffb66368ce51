//! Special rules for cache hints (PTX ISA, "Data Movement and Conversion Instructions").

use crate::check::context::Result;
use crate::check::operands::Check;
use crate::program::{Op, Operand, Type};

/// `prefetch`, `prefetchu`, `applypriority` and `discard`: no-ops, except that the address must be valid.
pub(super) fn hint(check: &mut Check<'_, '_>) -> Result<Op> {
    if check.modifiers.has("tensormap") {
        return Err(super::not_emulated(check));
    }
    let (groups, shape) = match check.opcode() {
        // Local memory has no cache priority.
        "prefetch" => (
            "{global|local}; L1|L2 @local = a cache level; \
             L1|L2|L2::evict_last|L2::evict_normal @!local = a cache level",
            "[a]",
        ),
        "prefetchu" => ("L1 = a cache level", "[a]"),
        "discard" => ("{global}; L2 = a cache level", "[a], size"),
        _ => ("{global}; L2::evict_normal = a priority", "[a], size"),
    };
    let space = check.take(groups)?.space();
    check.shape(shape)?;
    if check.count() == 2 && check.number(1)? != 128 {
        return Err(check.operand_error(1, "the size has to be 128", "write 128"));
    }
    Ok(Op::Hint { space, address: check.address(0, space)? })
}

/// `createpolicy`: no caches are emulated, so the policy can be any number.
pub(super) fn createpolicy(check: &mut Check<'_, '_>) -> Result<Op> {
    let form = check.take(
        "fractional|range|cvt = `.fractional`, `.range` or `.cvt`; L2 @cvt; {global @range}; \
         L2::evict_first|L2::evict_unchanged|L2::evict_last|L2::evict_normal @!cvt = a priority; \
         {L2::evict_first|L2::evict_unchanged @!cvt}; .b64",
    )?;
    check.shape(match (form.has("range"), form.has("cvt")) {
        (true, _) => "d, [a], size, total",
        (_, true) => "d, a",
        _ => "d, {fraction}",
    })?;
    let d = check.destination(0, Type::U64)?;
    for operand in &check.written.operands[1..] {
        if let Some(name) = operand.name()
            && check.body.find(name).is_none()
        {
            return Err(check.body.undeclared(check.context, name, operand.span));
        }
    }
    Ok(Op::Mov { ty: form.ty, d, a: Operand::Immediate(0) })
}
