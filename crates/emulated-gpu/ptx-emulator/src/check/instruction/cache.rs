//! Hints to caches (PTX ISA, "Data Movement and Conversion Instructions").

use crate::check::context::Result;
use crate::check::operands::Check;
use crate::diagnostic::Problem;
use crate::program::{Op, Operand, Space, Type};
use crate::syntax::{Expression, Node, OperandKind};

/// `prefetch`, `prefetchu`, `applypriority`, `discard`: nothing is moved, but the address has to
/// be one.
pub(super) fn hint(check: &mut Check<'_, '_>) -> Result<Op> {
    if check.modifiers.has("tensormap") {
        return Err(super::not_emulated(check));
    }
    let spaces: &[(&str, Space)] = match check.opcode() {
        "prefetch" => &[("global", Space::Global), ("local", Space::Local)],
        "prefetchu" => &[],
        _ => &[("global", Space::Global)],
    };
    let space = check.modifiers.pick(spaces).unwrap_or(Space::Generic);
    let size = match check.opcode() {
        "prefetch" => {
            let levels = [("L1", ()), ("L2", ()), ("L2::evict_last", ()), ("L2::evict_normal", ())];
            // What is in local memory has no priority.
            let known = if space == Space::Local { &levels[..2] } else { &levels[..] };
            check.modifiers.need("a cache level", known)?;
            None
        }
        "prefetchu" => {
            check.modifiers.need("a cache level", &[("L1", ())])?;
            None
        }
        "discard" => {
            check.modifiers.need("a cache level", &[("L2", ())])?;
            Some(())
        }
        _ => {
            check.modifiers.need("a priority", &[("L2::evict_normal", ())])?;
            Some(())
        }
    };
    check.shape(if size.is_some() { "[a], size" } else { "[a]" })?;
    if size.is_some() && check.number(1)? != 128 {
        return Err(
            Problem::new(check.operand(1)?.span, "the size has to be 128").help("write 128")
        );
    }
    Ok(Op::Hint { space, address: check.address(0, space)? })
}

/// What a policy is made of.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Policy {
    Fractional,
    Range,
    Convert,
}

/// `createpolicy`: there are no caches, so any number is a policy.
pub(super) fn createpolicy(check: &mut Check<'_, '_>) -> Result<Op> {
    let kinds =
        [("fractional", Policy::Fractional), ("range", Policy::Range), ("cvt", Policy::Convert)];
    let kind = check.modifiers.need("`.fractional`, `.range` or `.cvt`", &kinds)?;
    if kind == Policy::Convert {
        check.modifiers.need("`.L2`", &[("L2", ())])?;
    } else {
        if kind == Policy::Range {
            check.modifiers.flag("global");
        }
        let priorities = [
            ("L2::evict_first", ()),
            ("L2::evict_unchanged", ()),
            ("L2::evict_last", ()),
            ("L2::evict_normal", ()),
        ];
        check.modifiers.need("a priority", &priorities)?;
        check.modifiers.pick(&priorities[..2]);
    }
    let ty = check.modifiers.ty(&[Type::B64])?;
    check.shape(match kind {
        Policy::Fractional => "d, {fraction}",
        Policy::Range => "d, [a], size, total",
        Policy::Convert => "d, a",
    })?;
    let d = check.destination(0, Type::U64)?;
    for index in 1..check.count() {
        let operand = &check.written.operands[index];
        if let OperandKind::Plain(Node { expression: Expression::Name(name), .. }) = &operand.kind {
            let found = check.body.find(name);
            if found.is_none() {
                return Err(check.body.undeclared(check.context, name, operand.span));
            }
        }
    }
    Ok(Op::Mov { ty, d, a: Operand::Immediate(0) })
}
