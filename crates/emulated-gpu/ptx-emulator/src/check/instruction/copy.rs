//! Special rules for `cp.async` (PTX ISA, "Data Movement and Conversion Instructions: Non-bulk copy").

use crate::program::{Asynchronous, ObjectAction, Op, Space, Type};

use crate::check::context::Result;
use crate::check::operands::Check;
use crate::check::scope::Binding;
use crate::syntax::{Expression, Operand, Unary};

pub(super) fn cp(check: &mut Check<'_, '_>) -> Result<Op> {
    let words = || check.written.modifiers.iter().map(|word| word.text);
    if words().any(|word| matches!(word, "reduce" | "tensor")) {
        return Err(super::not_emulated(check));
    }
    let bulk = words().any(|word| word == "bulk");
    check.take("async")?;
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
    let form = check.take(
        "ca|cg = `.ca` or `.cg`; shared|shared::cta = `.shared.global`; global = `.shared.global`; \
         {L2::64B|L2::128B|L2::256B}; {L2::cache_hint}",
    )?;
    let policy = form.has("L2::cache_hint");
    check.shape(match policy {
        true => "[to], [from], size, {source}, policy",
        false => "[to], [from], size, {source}",
    })?;
    let to = check.address(0, Space::Shared)?;
    let from = check.address(1, Space::Global)?;
    let copy = check.number(2)?;
    let sizes: &[u64] = if form.has("ca") { &[4, 8, 16] } else { &[16] };
    if !sizes.contains(&copy) {
        let sizes: Vec<String> = sizes.iter().map(u64::to_string).collect();
        let message = format!("{copy} bytes can't be copied at once");
        return Err(check.operand_error(2, message, format!("copy {} bytes", sizes.join(", "))));
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

/// The operand of `wait_group`: the number of the latest groups that may still be in flight.
pub(super) fn pending(check: &mut Check<'_, '_>) -> Result<u32> {
    let pending = check.number(0)?;
    let help = "name how many of the latest groups may still be on their way";
    u32::try_from(pending).map_err(|_| check.operand_error(0, "too many groups", help))
}

/// `cp.async.mbarrier.arrive`
fn arrive(check: &mut Check<'_, '_>) -> Result<Op> {
    let form = check.form("arrive; {noinc}; {shared|shared::cta}; .b64", "[object]")?;
    Ok(super::mbarrier::object(ObjectAction::CopiesArrive { counted: form.has("noinc") }, &form))
}

fn is_predicate(check: &mut Check<'_, '_>, index: usize) -> bool {
    match check.written.operands.get(index).and_then(Operand::node).map(|node| &node.expression) {
        Some(Expression::Unary(Unary::Not, _)) => true,
        Some(Expression::Name(name)) => match check.body.find(name) {
            Some(Binding::Register(register)) => check.register_type(register) == Type::Pred,
            _ => false,
        },
        _ => false,
    }
}
