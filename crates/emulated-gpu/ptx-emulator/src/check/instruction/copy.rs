//! `cp.async` (PTX ISA, "Data Movement and Conversion Instructions: Non-bulk copy").

use crate::diagnostic::Problem;
use crate::program::{Op, Space, Type};

use crate::check::context::Result;
use crate::check::operands::Check;
use crate::syntax::{Expression, Node, OperandKind};

pub(super) fn cp(check: &mut Check<'_, '_>) -> Result<Op> {
    if ["bulk", "reduce", "mbarrier"]
        .iter()
        .any(|name| check.written.modifiers.iter().any(|word| word.text.starts_with(name)))
    {
        return Err(super::not_emulated(check));
    }
    check.modifiers.need("`.async`", &[("async", ())])?;
    check.require(80, (7, 0))?;
    if check.modifiers.flag("commit_group") {
        check.shape("")?;
        return Ok(Op::CopyAsyncCommit);
    }
    if check.modifiers.flag("wait_all") {
        check.shape("")?;
        return Ok(Op::CopyAsyncWait { pending: None });
    }
    if check.modifiers.flag("wait_group") {
        check.shape("n")?;
        let pending = check.number(0)?;
        let Ok(pending) = u32::try_from(pending) else {
            return Err(Problem::new(check.operand(0)?.span, "too many groups")
                .help("name how many of the latest groups may still be on their way"));
        };
        return Ok(Op::CopyAsyncWait { pending: Some(pending) });
    }
    let all = check.modifiers.need("`.ca` or `.cg`", &[("ca", true), ("cg", false)])?;
    let shared = [("shared", ()), ("shared::cta", ())];
    check.modifiers.need("`.shared.global`", &shared)?;
    check.modifiers.need("`.shared.global`", &[("global", ())])?;
    check.modifiers.pick(&[("L2::64B", ()), ("L2::128B", ()), ("L2::256B", ())]);
    let policy = check.modifiers.flag("L2::cache_hint");
    check.shape(if policy {
        "[to], [from], size, {source}, policy"
    } else {
        "[to], [from], size, {source}"
    })?;
    let to = check.address(0, Space::Shared)?;
    let from = check.address(1, Space::Global)?;
    let copy = check.number(2)?;
    let sizes: &[u64] = if all { &[4, 8, 16] } else { &[16] };
    if !sizes.contains(&copy) {
        let sizes: Vec<String> = sizes.iter().map(u64::to_string).collect();
        return Err(Problem::new(
            check.operand(2)?.span,
            format!("{copy} bytes can't be copied at once"),
        )
        .help(format!("copy {} bytes", sizes.join(", "))));
    }
    let (mut source, mut ignore_source) = (None, None);
    let last = check.count() - usize::from(policy);
    if last == 4 {
        if is_predicate(check, 3) {
            ignore_source = Some(check.predicate(3)?);
        } else {
            source = Some(check.source(3, Type::U32)?);
        }
    }
    if policy {
        check.source(last, Type::B64)?;
    }
    Ok(Op::CopyAsync { to, from, copy: copy as u32, source, ignore_source })
}

fn is_predicate(check: &mut Check<'_, '_>, index: usize) -> bool {
    let Some(operand) = check.written.operands.get(index) else { return false };
    match &operand.kind {
        OperandKind::Plain(Node {
            expression: Expression::Unary(crate::syntax::Unary::Not, _),
            ..
        }) => true,
        OperandKind::Plain(Node { expression: Expression::Name(name), .. }) => {
            match check.body.find(name) {
                Some(crate::check::scope::Binding::Register(register)) => {
                    check.register_type(register) == Type::Pred
                }
                _ => false,
            }
        }
        _ => false,
    }
}
