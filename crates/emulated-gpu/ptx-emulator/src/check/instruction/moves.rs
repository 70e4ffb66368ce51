//! Special rules for `mov` and `cvta` (PTX ISA, "Data Movement and Conversion Instructions").

use crate::diagnostic::Problem;
use crate::program::{Op, Operand, Space, Symbol, Type};
use crate::source::Span;
use crate::syntax::{Expression, Node, OperandKind};

use super::rows::STATE_SPACE;
use super::untyped;
use crate::check::context::Result;
use crate::check::operands::{Check, Width, space_name};
use crate::check::scope::Binding;
use crate::check::special::{self, Reads};
use crate::check::types;

pub(super) fn mov(check: &mut Check<'_, '_>) -> Result<Op> {
    let lanes = check.modifiers.take_one_of(&[("v2", 2), ("v4", 4)]);
    let ty = check.modifiers.ty("pred|sized|b128")?;
    check.shape("d, a")?;
    if let Some(lanes) = lanes {
        return vector(check, ty, lanes);
    }
    let written = check.written;
    let mut is_vector = |index: usize| {
        let operand = &written.operands[index];
        let named = operand.name().and_then(|name| check.body.find(name));
        matches!(&operand.kind, OperandKind::Vector(parts) if parts.len() > 1)
            || matches!(named, Some(Binding::Vector(_)))
    };
    match (is_vector(0), is_vector(1)) {
        (true, true) => {
            let help = "write mov.v2 or mov.v4, or move the elements one by one";
            Err(check.operand_error(1, "a vector on both sides", help))
        }
        (true, false) => unpack(check, ty),
        (false, true) => pack(check, ty),
        (false, false) => {
            let d = check.destination(0, ty)?;
            Ok(Op::Mov { ty, d, a: source(check, ty)? })
        }
    }
}

fn source(check: &mut Check<'_, '_>, ty: Type) -> Result<Operand> {
    let written = check.written;
    let operand = &written.operands[1];
    if let OperandKind::Element(name, index) = &operand.kind {
        let node = Node { expression: Expression::Name(name.text), span: name.span };
        let (value, _) =
            crate::check::constants::integer(crate::check::constants::evaluate(index)?, index)?;
        let Some((Operand::Address(symbol, _), space)) = check.symbol(name.text) else {
            return Err(Problem::new(node.span, format!("`{}` is not a variable", name.text))
                .help("only the elements of variables have addresses"));
        };
        address_type(check, ty, space, operand.span)?;
        let size = element_type(check, symbol).bytes() as i64;
        return Ok(Operand::Address(symbol, (value as i64).wrapping_mul(size)));
    }
    let node = check.plain_of(operand)?;
    if let Some(special) = special_register(check, node, ty)? {
        return Ok(special);
    }
    let (base, offset) = check.base_and_offset(node)?;
    if let Expression::Name(name) = base.expression
        && let Some((symbol, space)) = check.symbol(name)
    {
        if check.opaque(symbol).is_some() {
            check.context.require(base.span, "the handle of a texture", 20, (3, 1))?;
            if offset == 0 && ty.bytes() == 8 {
                return Ok(check.handle_of(symbol));
            }
        }
        address_type(check, ty, space, base.span)?;
        return match symbol {
            Operand::Address(symbol, _) => Ok(Operand::Address(symbol, offset)),
            Operand::Function(id) if offset == 0 => {
                let entry = check.context.module.functions[id.0 as usize].entry;
                let (target, version) = if entry { (35, (3, 1)) } else { (10, (2, 1)) };
                check.require(target, version)?;
                Ok(symbol)
            }
            _ => Err(Problem::new(node.span, "the address of a function takes no offset")
                .help("remove the offset")),
        };
    }
    if ty == Type::Pred {
        return check.predicate_of(node);
    }
    check.value(node, ty, Width::Exact)
}

fn element_type(check: &Check<'_, '_>, symbol: Symbol) -> Type {
    match symbol {
        Symbol::Local(id) => check.body.function.variables[id.0 as usize].element,
        Symbol::Module(id) => check.context.module.variables[id.0 as usize].element,
    }
}

/// Returns an error unless an address in this space fits the type: an integer of 64 bits, or of 32 bits in shared,
/// local and parameter space.
fn address_type(check: &Check<'_, '_>, ty: Type, space: Space, span: Span) -> Result<()> {
    let narrow = !matches!(space, Space::Global | Space::Generic);
    if matches!(ty, Type::B64 | Type::U64 | Type::S64)
        || narrow && matches!(ty, Type::B32 | Type::U32 | Type::S32)
    {
        return Ok(());
    }
    Err(Problem::new(span, format!("`{}` can't hold an address", check.title()))
        .help("an address has 64 bits: write mov.u64"))
}

/// A special register as the source of a `mov` or `cvt`.
pub(super) fn special_register<'a>(
    check: &mut Check<'_, 'a>,
    node: &Node<'a>,
    ty: Type,
) -> Result<Option<Operand>> {
    let (name, member) = match node.expression {
        Expression::Name(name) => (name, None),
        Expression::Member(name, member) => (name, Some(member)),
        _ => return Ok(None),
    };
    let Some((reads, found, (target, version))) = special::find_special(name, member) else {
        return Ok(None);
    };
    // A register of that name hides the special register.
    if check.body.find(name).is_some() {
        return Ok(None);
    }
    let integer = matches!(types::class(ty), types::Class::Bits) || types::is_integer(ty);
    let (have, want) = (found.bits(), ty.bits());
    let fits = match found {
        Type::Pred => ty == Type::Pred,
        // Older versions of PTX read the positions as .u16, and %gridid as .u32.
        _ => {
            integer
                && (have == want
                    || member.is_some() && want == 16 && target < 90
                    || name == "%gridid" && want == 32)
        }
    };
    if !fits {
        let shown = member.map_or(name.to_owned(), |member| format!("{name}.{member}"));
        return Err(Problem::new(
            node.span,
            format!("`{shown}` is .{}, `{}` reads .{}", found.name(), check.title(), ty.name()),
        )
        .help(format!("write mov.{0} into a register of type .{0}", found.name())));
    }
    check.context.require(node.span, &format!("`{name}`"), target, version)?;
    match reads {
        Reads::As(special) => Ok(Some(Operand::Special(special))),
        Reads::Constant(value) => Ok(Some(Operand::Immediate(value))),
        Reads::Nothing => Err(Problem::new(node.span, format!("`{name}` is not emulated"))
            .help("it is set by hardware or by tools: the kernel has to do without it")),
    }
}

fn unpack(check: &mut Check<'_, '_>, ty: Type) -> Result<Op> {
    let (parts, part) = part_type(check, ty, 0)?;
    check.require_same_type(&parts)?;
    let parts = check.part_destinations(&parts, part, Width::Exact)?;
    if parts.iter().all(Option::is_none) {
        let help = "name a register for one of them";
        return Err(check.operand_error(0, "every part is discarded", help));
    }
    let mut a = source(check, ty)?;
    if !matches!(a, Operand::Register(_) | Operand::Immediate(_)) {
        let whole = check.body.register("", ty, check.written.span);
        check.before.push(Op::Mov { ty, d: Some(whole), a });
        a = Operand::Register(whole);
    }
    Ok(Op::Unpack { ty, parts, part, a })
}

fn pack(check: &mut Check<'_, '_>, ty: Type) -> Result<Op> {
    let d = check.destination(0, ty)?;
    let (parts, part) = part_type(check, ty, 1)?;
    check.require_same_type(&parts)?;
    let parts = check.part_sources(&parts, part, Width::Exact)?;
    Ok(Op::Pack { ty, d, parts, part })
}

/// The parts of a vector, and their type. Together they are as wide as the whole.
fn part_type<'c, 'a>(
    check: &mut Check<'c, 'a>,
    ty: Type,
    index: usize,
) -> Result<(Vec<crate::check::operands::Part<'c, 'a>>, Type)> {
    let parts = check.parts(index)?;
    let bits = ty.bits();
    let whole = types::class(ty) == types::Class::Bits;
    if whole && matches!(parts.len(), 2 | 4) && bits / parts.len() as u32 >= 8 {
        let part = untyped(bits / parts.len() as u32);
        return Ok((parts, part));
    }
    let message = format!("`{}` can't be split into {} parts", check.title(), parts.len());
    Err(check.operand_error(
        index,
        message,
        match whole {
            true => "two or four registers that are as wide together".into(),
            false => format!("write mov.b{bits}: only bits are packed and unpacked"),
        },
    ))
}

/// `mov.v2` and `mov.v4`: each element is copied to a temporary first, because a destination may also be a
/// source.
fn vector(check: &mut Check<'_, '_>, ty: Type, lanes: usize) -> Result<Op> {
    let (to, from) = (check.parts(0)?, all_components(check, ty)?);
    let from_len = from
        .as_ref()
        .map_or_else(|| check.parts(1).map(|parts| parts.len()), |all| Ok(all.len()))?;
    if to.len() != lanes || from_len != lanes || ty == Type::Pred || ty == Type::B128 {
        return Err(Problem::new(
            check.written.span,
            format!("`{}` takes two vectors of {lanes}", check.title()),
        )
        .help("write {a, b} = two, {a, b, c, d} = four registers"));
    }
    check.require_same_type(&to)?;
    let sources = match from {
        Some(sources) => sources,
        None => {
            let parts = check.parts(1)?;
            check.require_same_type(&parts)?;
            check.part_sources(&parts, ty, Width::Exact)?
        }
    };
    let mut copies = Vec::new();
    for (part, a) in to.iter().zip(sources) {
        let d = check.part_destination(part, ty, Width::Exact)?;
        let copy = check.body.register("", ty, check.written.span);
        check.before.push(Op::Mov { ty, d: Some(copy), a });
        copies.push(Op::Mov { ty, d, a: Operand::Register(copy) });
    }
    let last = copies.pop();
    check.before.extend(copies);
    last.ok_or_else(|| Problem::new(check.written.span, "an empty vector").help("name registers"))
}

/// All components of a special register such as `%tid`.
fn all_components(check: &mut Check<'_, '_>, ty: Type) -> Result<Option<Vec<Operand>>> {
    let written = check.written;
    let operand = &written.operands[1];
    let Some(name) = operand.name() else { return Ok(None) };
    if !special::is_vector(name) || check.body.find(name).is_some() {
        return Ok(None);
    }
    if ty.bits() != 32 || types::is_float(ty) {
        let message = format!("the elements of `{name}` have 32 bits");
        let help = "write mov.v4.u32, and widen the results with cvt";
        return Err(check.operand_error(1, message, help));
    }
    if let Some((_, _, (target, version))) = special::find_special(name, Some("x")) {
        check.context.require(operand.span, &format!("`{name}`"), target, version)?;
    }
    let components =
        ["x", "y", "z", "w"].map(|member| match special::find_special(name, Some(member)) {
            Some((Reads::As(special), ..)) => Operand::Special(special),
            _ => Operand::Immediate(0),
        });
    Ok(Some(components.to_vec()))
}

pub(super) fn cvta(check: &mut Check<'_, '_>) -> Result<Op> {
    let to_space = check.modifiers.flag("to");
    let space = check.take(STATE_SPACE)?.space();
    let ty = check.modifiers.ty("u64")?;
    check.shape("d, a")?;
    let d = check.destination(0, ty)?;
    let written = check.written;
    let node = check.plain_of(&written.operands[1])?;
    let (base, offset) = check.base_and_offset(node)?;
    let a = match base.expression {
        Expression::Name(name) => match check.symbol(name) {
            Some((Operand::Address(symbol, _), found)) if found == space && !to_space => {
                Operand::Address(symbol, offset)
            }
            Some((_, found)) => {
                let message = format!("`{name}` is in {} space", space_name(found));
                return Err(Problem::new(base.span, message).help(format!(
                    "write cvta{}.u64, or name a variable of that space",
                    space_name(found)
                )));
            }
            None => check.source(1, ty)?,
        },
        _ => check.source(1, ty)?,
    };
    Ok(Op::ConvertAddress { space, to_space, ty, d, a })
}
