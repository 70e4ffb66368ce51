//! Barriers and fences (PTX ISA, "Parallel Synchronization and Communication Instructions").

use crate::diagnostic::Problem;
use crate::program::{Atomic, BarrierAction, Op, Operand, Scope, Type};

use super::memory::SCOPES;
use crate::check::context::Result;
use crate::check::operands::Check;

pub(super) fn bar(check: &mut Check<'_, '_>) -> Result<Op> {
    let barrier = check.opcode() == "barrier";
    if !barrier && check.modifiers.flag("warp") {
        check.modifiers.need("`.sync`", &[("sync", ())])?;
        check.shape("mask")?;
        return Ok(Op::WarpBarrier { mask: check.source(0, Type::B32)? });
    }
    if check.modifiers.has("cluster") {
        return Err(super::not_emulated(check));
    }
    check.modifiers.flag("cta");
    // `bar` is `barrier.aligned`.
    let aligned = !barrier || check.modifiers.flag("aligned");
    match check.modifiers.need(
        "to know what it does",
        &[
            ("sync", BarrierOperation::Sync),
            ("arrive", BarrierOperation::Arrive),
            ("red", BarrierOperation::Reduce),
        ],
    )? {
        BarrierOperation::Sync => {
            check.shape("a, {b}")?;
            let threads = if check.count() == 2 { Some(threads(check, 1)?) } else { None };
            let barrier = number(check, 0)?;
            Ok(Op::Barrier { action: BarrierAction::Sync, barrier, threads, aligned })
        }
        BarrierOperation::Arrive => {
            check.shape("a, b")?;
            let threads = Some(threads(check, 1)?);
            Ok(Op::Barrier {
                action: BarrierAction::Arrive,
                barrier: number(check, 0)?,
                threads,
                aligned,
            })
        }
        BarrierOperation::Reduce => reduce(check, aligned),
    }
}

#[derive(Clone, Copy)]
enum BarrierOperation {
    Sync,
    Arrive,
    Reduce,
}

/// `bar.red.popc.u32 d, a, {b,} c` and `bar.red.and.pred p, a, {b,} c`.
fn reduce(check: &mut Check<'_, '_>, aligned: bool) -> Result<Op> {
    let operations = [("popc", Atomic::Add), ("and", Atomic::And), ("or", Atomic::Or)];
    let operation = check.modifiers.need("an operation", &operations)?;
    let ty = if operation == Atomic::Add { Type::U32 } else { Type::Pred };
    check.modifiers.ty(&[ty])?;
    check.shape("d, a, {b}, c")?;
    let destination = check.destination(0, ty)?;
    let barrier = number(check, 1)?;
    let last = check.count() - 1;
    let threads = if last == 3 { Some(threads(check, 2)?) } else { None };
    let predicate = check.predicate(last)?;
    let action = BarrierAction::Reduce { operation, destination, predicate };
    Ok(Op::Barrier { action, barrier, threads, aligned })
}

/// Which of the 16 barriers.
fn number(check: &mut Check<'_, '_>, index: usize) -> Result<Operand> {
    let barrier = check.source(index, Type::U32)?;
    if let Operand::Immediate(16..) = barrier {
        return Err(Problem::new(check.operand(index)?.span, "there are 16 barriers")
            .help("name one from 0 to 15"));
    }
    Ok(barrier)
}

/// How many threads take part.
fn threads(check: &mut Check<'_, '_>, index: usize) -> Result<Operand> {
    let threads = check.source(index, Type::U32)?;
    if let Operand::Immediate(count) = threads
        && !count.is_multiple_of(32)
    {
        return Err(Problem::new(
            check.operand(index)?.span,
            format!("{count} threads are no whole warps"),
        )
        .help("a barrier counts warps: write a multiple of 32"));
    }
    Ok(threads)
}

pub(super) fn membar(check: &mut Check<'_, '_>) -> Result<Op> {
    if check.modifiers.has("proxy")
        || check.written.modifiers.iter().any(|word| word.text.starts_with("proxy"))
    {
        return proxy(check);
    }
    let scopes = [("cta", Scope::Cta), ("gl", Scope::Gpu), ("sys", Scope::System)];
    let scope = check.modifiers.need("a scope", &scopes)?;
    check.shape("")?;
    Ok(Op::Fence { scope })
}

/// There is one way to memory here, so that a fence between ways is one in memory.
fn proxy(check: &mut Check<'_, '_>) -> Result<Op> {
    let refused = |text: &str| {
        ["tensormap", "sync_restrict", "async::generic"].iter().any(|word| text.starts_with(word))
    };
    if check.written.modifiers.iter().any(|word| refused(word.text)) {
        return Err(super::not_emulated(check));
    }
    check.modifiers.need("a proxy", &[("proxy", ())])?;
    let membar = check.opcode() == "membar";
    let kinds = [("alias", true), ("async", false)];
    let kind = &kinds[..if membar { 1 } else { 2 }];
    if !check.modifiers.need("the kind of proxy", kind)? {
        check.modifiers.pick(&[("global", ()), ("shared::cta", ()), ("shared::cluster", ())]);
    }
    check.shape("")?;
    Ok(Op::Fence { scope: Scope::System })
}

pub(super) fn fence(check: &mut Check<'_, '_>) -> Result<Op> {
    if check.written.modifiers.iter().any(|word| word.text.starts_with("proxy")) {
        return proxy(check);
    }
    if check.modifiers.flag("mbarrier_init") {
        // What makes an object known to other blocks of a cluster, of which there are none.
        check.modifiers.need("`.release`", &[("release", ())])?;
        check.modifiers.need("`.cluster`", &[("cluster", ())])?;
        check.shape("")?;
        return Ok(Op::Fence { scope: Scope::Cluster });
    }
    let words = &check.written.modifiers;
    if words.iter().any(|word| word.text.starts_with("sync_restrict")) {
        return Err(super::not_emulated(check));
    }
    let orders = [("sc", ()), ("acq_rel", ()), ("acquire", ()), ("release", ())];
    check.modifiers.pick(&orders);
    let scope = check.modifiers.need("a scope", &SCOPES)?;
    check.shape("")?;
    Ok(Op::Fence { scope })
}
