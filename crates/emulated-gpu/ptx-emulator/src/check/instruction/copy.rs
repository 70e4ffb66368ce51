//! `cp.async` (PTX ISA, "Data Movement and Conversion Instructions: Non-bulk copy").

use crate::diagnostic::Problem;
use crate::program::{Asynchronous, ObjectAction, Op, Space, Type};

use crate::check::context::Result;
use crate::check::operands::Check;
use crate::syntax::{Expression, Node, OperandKind};

pub(super) fn cp(check: &mut Check<'_, '_>) -> Result<Op> {
    let words = || check.written.modifiers.iter().map(|word| word.text);
    if words().any(|word| matches!(word, "reduce" | "tensor")) {
        return Err(super::not_emulated(check));
    }
    let bulk = words().any(|word| word == "bulk");
    check.modifiers.need("`.async`", &[("async", ())])?;
    if bulk {
        return super::bulk::bulk(check);
    }
    let done = |op: Asynchronous| Ok(Op::Asynchronous(Box::new(op)));
    if check.modifiers.flag("mbarrier") {
        return arrive(check);
    }
    if check.modifiers.flag("commit_group") {
        check.shape("")?;
        return done(Asynchronous::Commit { bulk: false });
    }
    if check.modifiers.flag("wait_all") {
        check.shape("")?;
        return done(Asynchronous::Wait { pending: None });
    }
    if check.modifiers.flag("wait_group") {
        check.shape("n")?;
        return done(Asynchronous::Wait { pending: Some(pending(check)?) });
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
            check.require(80, (7, 5))?;
            ignore_source = Some(check.predicate(3)?);
        } else {
            source = Some(check.source(3, Type::U32)?);
        }
    }
    if policy {
        check.source(last, Type::U64)?;
    }
    done(Asynchronous::Copy { to, from, copy: copy as u32, source, ignore_source })
}

/// How many of the latest groups may still be under way.
pub(super) fn pending(check: &mut Check<'_, '_>) -> Result<u32> {
    let pending = check.number(0)?;
    u32::try_from(pending).or_else(|_| {
        Err(Problem::new(check.operand(0)?.span, "too many groups")
            .help("name how many of the latest groups may still be on their way"))
    })
}

/// `cp.async.mbarrier.arrive`
fn arrive(check: &mut Check<'_, '_>) -> Result<Op> {
    check.modifiers.need("`.arrive`", &[("arrive", ())])?;
    let counted = check.modifiers.flag("noinc");
    let space = super::mbarrier::own_space(check)?;
    check.modifiers.ty(&[Type::B64])?;
    check.shape("[object]")?;
    let address = check.address(0, space)?;
    Ok(super::mbarrier::object(ObjectAction::CopiesArrive { counted }, space, address))
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
