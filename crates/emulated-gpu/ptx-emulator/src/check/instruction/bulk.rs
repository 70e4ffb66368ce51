//! Special rules for `cp.async.bulk` in one dimension (PTX ISA, "Data Movement and Conversion Instructions:
//! Bulk copy").

use crate::program::{Asynchronous, Op, Operand, Space, Type};

use crate::check::context::Result;
use crate::check::operands::{Check, space_named};

pub(super) fn bulk(check: &mut Check<'_, '_>) -> Result<Op> {
    check.take("bulk")?;
    if check.modifiers.flag("commit_group") {
        check.shape("")?;
        return Ok(Op::Asynchronous(Box::new(Asynchronous::Commit { bulk: true })));
    }
    if check.modifiers.flag("wait_group") {
        let read = check.modifiers.flag("read");
        check.shape("n")?;
        let pending = super::copy::pending(check)?;
        return Ok(Op::Asynchronous(Box::new(Asynchronous::WaitBulk { pending, read })));
    }
    if check.modifiers.flag("prefetch") {
        return prefetch(check);
    }
    if check.modifiers.has("multicast::cluster") || check.modifiers.has("cp_mask") {
        return Err(super::not_emulated(check));
    }
    // The two modifiers have the order of the operands.
    let spaces = "shared::cluster|shared::cta|global";
    let (to, from) = (check.modifiers.word(spaces), check.modifiers.word(spaces));
    let group = match (to, from) {
        (Some("shared::cta" | "shared::cluster"), Some("global"))
        | (Some("shared::cluster"), Some("shared::cta")) => false,
        (Some("global"), Some("shared::cta")) => true,
        _ => {
            return Err(check.error(
                "`cp.async.bulk` needs the state spaces of its destination and source",
                "write .shared::cta.global, .shared::cluster.global, .shared::cluster.shared::cta or \
                 .global.shared::cta",
            ));
        }
    };
    let space = |word: Option<&str>| space_named(word.unwrap_or_default());
    let (to, from) = (space(to), space(from));
    check.take(match group {
        true => "bulk_group = a completion mechanism",
        false => "mbarrier::complete_tx::bytes = a completion mechanism",
    })?;
    let hinted =
        (to == Space::Global || from == Space::Global) && check.modifiers.flag("L2::cache_hint");
    check.shape(match (group, hinted) {
        (true, false) => "[to], [from], size",
        (true, true) => "[to], [from], size, policy",
        (false, false) => "[to], [from], size, [object]",
        (false, true) => "[to], [from], size, [object], policy",
    })?;
    let (to, from) = ((to, check.address(0, to)?), (from, check.address(1, from)?));
    let bytes = bulk_size(check, 2)?;
    let barrier = if group { None } else { Some(check.address(3, Space::Shared)?) };
    if hinted {
        check.source(check.count() - 1, Type::U64)?;
    }
    Ok(Op::Asynchronous(Box::new(Asynchronous::Bulk { to, from, bytes, barrier })))
}

/// A no-op, because no caches are emulated: only its syntax is checked.
fn prefetch(check: &mut Check<'_, '_>) -> Result<Op> {
    check.take("L2; global")?;
    let hinted = check.modifiers.flag("L2::cache_hint");
    check.shape(if hinted { "[a], size, policy" } else { "[a], size" })?;
    let address = check.address(0, Space::Global)?;
    bulk_size(check, 1)?;
    if hinted {
        check.source(2, Type::U64)?;
    }
    Ok(Op::Hint { space: Space::Global, address })
}

fn bulk_size(check: &mut Check<'_, '_>, index: usize) -> Result<Operand> {
    let bytes = check.source(index, Type::U32)?;
    if let Operand::Immediate(count) = bytes
        && !count.is_multiple_of(16)
    {
        let message = format!("{count} bytes can't be copied in bulk");
        return Err(check.operand_error(index, message, "write a multiple of 16"));
    }
    Ok(bytes)
}
