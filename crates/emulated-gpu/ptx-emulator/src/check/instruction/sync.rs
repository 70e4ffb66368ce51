//! Special rules for barriers and fences (PTX ISA, "Parallel Synchronization and Communication Instructions").

use crate::program::{Atomic, BarrierAction, Op, Operand, Scope, Type};

use super::memory::SCOPES;
use crate::check::context::Result;
use crate::check::operands::Check;

pub(super) fn bar(check: &mut Check<'_, '_>) -> Result<Op> {
    if check.modifiers.has("cluster") {
        return Err(super::not_emulated(check));
    }
    let barrier = check.opcode() == "barrier";
    let mut form = check.take(if barrier { "{cta}; {aligned}" } else { "{warp}; {cta}" })?;
    check.take_more(&mut form, "sync|arrive|red = an action")?;
    // `bar` is `barrier.aligned`.
    let aligned = !barrier || form.has("aligned");
    if form.has("red") {
        return reduce(check, aligned);
    }
    let sync = form.has("sync");
    check.shape(if sync { "a, {b}" } else { "a, b" })?;
    let threads = if check.count() == 2 { Some(thread_count(check, 1)?) } else { None };
    let action = if sync { BarrierAction::Sync } else { BarrierAction::Arrive };
    Ok(Op::Barrier { action, barrier: number(check, 0)?, threads, aligned })
}

/// `bar.red.popc.u32 d, a, {b,} c` and `bar.red.and.pred p, a, {b,} c`.
fn reduce(check: &mut Check<'_, '_>, aligned: bool) -> Result<Op> {
    let operations = [("popc", Atomic::Add), ("and", Atomic::And), ("or", Atomic::Or)];
    let operation = check.modifiers.require_one_of("an operation", &operations)?;
    let ty = check.modifiers.ty(if operation == Atomic::Add { "u32" } else { "pred" })?;
    check.shape("d, a, {b}, c")?;
    let destination = check.destination(0, ty)?;
    let barrier = number(check, 1)?;
    let last = check.count() - 1;
    let threads = if last == 3 { Some(thread_count(check, 2)?) } else { None };
    let predicate = check.predicate(last)?;
    let action = BarrierAction::Reduce { operation, destination, predicate };
    Ok(Op::Barrier { action, barrier, threads, aligned })
}

/// The barrier's number, from 0 to 15.
fn number(check: &mut Check<'_, '_>, index: usize) -> Result<Operand> {
    let barrier = check.source(index, Type::U32)?;
    if let Operand::Immediate(16..) = barrier {
        let message = "there are 16 barriers";
        return Err(check.operand_error(index, message, "use a number from 0 to 15"));
    }
    Ok(barrier)
}

/// The number of participating threads.
fn thread_count(check: &mut Check<'_, '_>, index: usize) -> Result<Operand> {
    let threads = check.source(index, Type::U32)?;
    if let Operand::Immediate(count) = threads
        && !count.is_multiple_of(32)
    {
        let message = format!("{count} threads are not whole warps");
        let help = "a barrier waits for whole warps: write a multiple of 32";
        return Err(check.operand_error(index, message, help));
    }
    Ok(threads)
}

/// Whether a modifier begins with one of these prefixes.
fn has_modifier_prefix(check: &Check<'_, '_>, beginnings: &[&str]) -> bool {
    let begins = |text: &str| beginnings.iter().any(|beginning| text.starts_with(beginning));
    check.written.modifiers.iter().any(|word| begins(word.text))
}

pub(super) fn membar(check: &mut Check<'_, '_>) -> Result<Op> {
    if has_modifier_prefix(check, &["proxy"]) {
        return proxy(check);
    }
    let scopes = [("cta", Scope::Cta), ("gl", Scope::Gpu), ("sys", Scope::System)];
    let scope = check.modifiers.require_one_of("a scope", &scopes)?;
    check.shape("")?;
    Ok(Op::Fence { scope })
}

/// A fence between proxies. All proxies are the same here, so it becomes a plain fence.
fn proxy(check: &mut Check<'_, '_>) -> Result<Op> {
    if has_modifier_prefix(check, &["tensormap", "sync_restrict", "async::generic"]) {
        return Err(super::not_emulated(check));
    }
    let kinds = "proxy = a proxy; alias|async = the kind of proxy; \
        {global|shared::cta|shared::cluster @async}";
    let membar = "proxy = a proxy; alias = the kind of proxy";
    check.form(if check.opcode() == "membar" { membar } else { kinds }, "")?;
    Ok(Op::Fence { scope: Scope::System })
}

pub(super) fn fence(check: &mut Check<'_, '_>) -> Result<Op> {
    if has_modifier_prefix(check, &["proxy"]) {
        return proxy(check);
    }
    if check.modifiers.flag("mbarrier_init") {
        // Makes an object visible to the other blocks of a cluster. Here a cluster has only one block.
        check.form("release; cluster", "")?;
        return Ok(Op::Fence { scope: Scope::Cluster });
    }
    if has_modifier_prefix(check, &["sync_restrict"]) {
        return Err(super::not_emulated(check));
    }
    check.take("{sc|acq_rel|acquire|release}")?;
    let scope = check.modifiers.require_one_of("a scope", &SCOPES)?;
    check.shape("")?;
    Ok(Op::Fence { scope })
}
