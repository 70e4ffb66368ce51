//! `mbarrier` (PTX ISA, "Parallel Synchronization and Communication Instructions: mbarrier").

use crate::diagnostic::Problem;
use crate::program::{Asynchronous, ObjectAction, Op, Operand, Space, Type};

use crate::check::context::Result;
use crate::check::operands::{Check, Width};

/// Arrivals of a phase at most: 2²⁰ − 1.
const MOST: u64 = (1 << 20) - 1;

#[derive(Clone, Copy)]
enum MbarrierOperation {
    Initialise,
    Invalidate,
    Arrive,
    Drop,
    Test,
    Try,
    PendingCount,
    /// `.expect_tx` and `.complete_tx` by themselves.
    Transactions,
}

pub(super) fn mbarrier(check: &mut Check<'_, '_>) -> Result<Op> {
    let operations = [
        ("init", MbarrierOperation::Initialise),
        ("inval", MbarrierOperation::Invalidate),
        ("arrive", MbarrierOperation::Arrive),
        ("arrive_drop", MbarrierOperation::Drop),
        ("test_wait", MbarrierOperation::Test),
        ("try_wait", MbarrierOperation::Try),
        ("pending_count", MbarrierOperation::PendingCount),
    ];
    let operation = check.modifiers.pick(&operations).unwrap_or(MbarrierOperation::Transactions);
    match operation {
        MbarrierOperation::Initialise => {
            let space = own_space(check)?;
            finish(check, "[object], count")?;
            let address = check.address(0, space)?;
            let count = check.source(1, Type::U32)?;
            limited(check, 1, count)?;
            Ok(object(ObjectAction::Initialise { count }, space, address))
        }
        MbarrierOperation::Invalidate => {
            let space = own_space(check)?;
            finish(check, "[object]")?;
            let address = check.address(0, space)?;
            Ok(object(ObjectAction::Invalidate, space, address))
        }
        MbarrierOperation::Arrive => arrive(check, false),
        MbarrierOperation::Drop => arrive(check, true),
        MbarrierOperation::Test => test(check, false),
        MbarrierOperation::Try => test(check, true),
        MbarrierOperation::PendingCount => {
            finish(check, "count, state")?;
            let d = check.destination(0, Type::U32)?;
            let a = check.source(1, Type::U64)?;
            Ok(Op::Asynchronous(Box::new(Asynchronous::PendingCount { d, a })))
        }
        MbarrierOperation::Transactions => transactions(check),
    }
}

pub(super) fn object(action: ObjectAction, space: Space, address: crate::program::Address) -> Op {
    Op::Asynchronous(Box::new(Asynchronous::Barrier { action, space, address }))
}

/// `.b64`, and this many operands.
fn finish(check: &mut Check<'_, '_>, shape: &str) -> Result<()> {
    check.modifiers.ty(&[Type::B64])?;
    check.shape(shape)
}

/// That of the block: `.shared`, `.shared::cta`, or a generic address.
pub(super) fn own_space(check: &mut Check<'_, '_>) -> Result<Space> {
    let spaces = [("shared", false), ("shared::cta", true)];
    Ok(check.modifiers.pick(&spaces).map_or(Space::Generic, |_| Space::Shared))
}

/// The same, and `.shared::cluster`: the block is the whole of its cluster.
fn any_space(check: &mut Check<'_, '_>) -> Result<(Space, bool)> {
    if check.modifiers.flag("shared::cluster") {
        return Ok((Space::Shared, true));
    }
    Ok((own_space(check)?, false))
}

/// An order, which is given together with a scope; whether it is the strict one, which is the default.
fn order(check: &mut Check<'_, '_>, strict: Option<&'static str>) -> Result<bool> {
    let order = match strict {
        Some(strict) => check.modifiers.pick(&[(strict, true), ("relaxed", false)]),
        None => check.modifiers.pick(&[("relaxed", false)]),
    };
    let scope = check.modifiers.pick(&[("cta", false), ("cluster", true)]);
    match (order, scope) {
        (None, None) => return Ok(strict.is_some()),
        (Some(_), Some(_)) => {}
        _ => {
            let problem =
                Problem::new(check.name_span(), "an order and a scope are given together");
            return Err(problem.help("write both, such as .release.cta, or neither"));
        }
    }
    Ok(order.unwrap_or(true))
}

fn arrive(check: &mut Check<'_, '_>, drop: bool) -> Result<Op> {
    let incomplete = check.modifiers.flag("noComplete");
    let expects = !incomplete && check.modifiers.flag("expect_tx");
    let (space, remote) = any_space(check)?;
    let clustered = check.modifiers.has("cluster");
    let releases = order(check, Some("release"))?;
    if incomplete && (remote || clustered || !releases) {
        let problem =
            Problem::new(check.name_span(), "`.noComplete` is of the block, and releases");
        return Err(problem.help("write .noComplete.release.cta, or leave .noComplete away"));
    }
    finish(
        check,
        match (incomplete, expects) {
            (true, _) => "state, [object], count",
            (_, true) => "state, [object], transactions",
            _ => "state, [object], {count}",
        },
    )?;
    let written = check.written;
    let d = check.destination_or_sink(&written.operands[0], Type::U64, Width::Exact)?;
    if d.is_none() {
        check.require(80, (7, 1))?;
    } else if remote {
        let problem = Problem::new(check.operand(0)?.span, "`.shared::cluster` gives no state");
        return Err(problem.help("write `_` in its place"));
    }
    let address = check.address(1, space)?;
    let number = if check.count() == 3 { Some(check.source(2, Type::U32)?) } else { None };
    if number.is_some() && !incomplete && !expects {
        check.require(90, (7, 8))?;
    }
    let (count, expected) = if expects { (None, number) } else { (number, None) };
    if let Some(count) = count {
        limited(check, 2, count)?;
    }
    let action = ObjectAction::Arrive { drop, incomplete, releases, count, expected, d };
    Ok(object(action, space, address))
}

/// A count that is written as a number: from 1 to 2²⁰ − 1. ptxas does not look at it.
fn limited(check: &Check<'_, '_>, index: usize, count: Operand) -> Result<()> {
    match count {
        Operand::Immediate(count) if count == 0 || count > MOST => {
            let problem = Problem::new(
                check.operand(index)?.span,
                format!("{count} is no number of arrivals"),
            );
            Err(problem.help(format!("write one from 1 to {MOST}")))
        }
        _ => Ok(()),
    }
}

fn transactions(check: &mut Check<'_, '_>) -> Result<Op> {
    let completes = check
        .modifiers
        .need("to know what it does", &[("expect_tx", false), ("complete_tx", true)])?;
    let (space, _) = any_space(check)?;
    order(check, None)?;
    finish(check, "[object], transactions")?;
    let address = check.address(0, space)?;
    let transactions = check.source(1, Type::U32)?;
    let action = if completes {
        ObjectAction::Complete { transactions }
    } else {
        ObjectAction::Expect { transactions }
    };
    Ok(object(action, space, address))
}

fn test(check: &mut Check<'_, '_>, suspends: bool) -> Result<Op> {
    let parity = check.modifiers.flag("parity");
    let space = own_space(check)?;
    let acquires = order(check, Some("acquire"))?;
    finish(check, if suspends { "p, [object], phase, {hint}" } else { "p, [object], phase" })?;
    let d = check.destination(0, Type::Pred)?;
    let address = check.address(1, space)?;
    let phase = check.source(2, if parity { Type::U32 } else { Type::U64 })?;
    if let Operand::Immediate(2..) = phase
        && parity
    {
        let problem = Problem::new(check.operand(2)?.span, "a parity is 0 or 1");
        return Err(problem.help("write 0 for the first phase, 1 for the second, and so on"));
    }
    let hint = if check.count() == 4 { Some(check.source(3, Type::U32)?) } else { None };
    Ok(object(ObjectAction::Test { acquires, parity, phase, hint, d }, space, address))
}
