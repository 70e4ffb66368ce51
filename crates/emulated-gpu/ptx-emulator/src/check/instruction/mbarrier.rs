//! Special rules for `mbarrier` (PTX ISA, "Parallel Synchronization and Communication Instructions: mbarrier").

use super::form::Form;
use crate::program::{Asynchronous, ObjectAction, Op, Operand, Type};

use crate::check::context::Result;
use crate::check::operands::{Check, Width};

/// The maximum number of arrivals of a phase: 2²⁰ − 1.
const MAX_ARRIVALS: u64 = (1 << 20) - 1;

pub(super) fn mbarrier(check: &mut Check<'_, '_>) -> Result<Op> {
    let operations = "init|inval|arrive|arrive_drop|test_wait|try_wait|pending_count";
    match check.modifiers.word(operations).unwrap_or_default() {
        "init" => {
            let form = check.form("{shared|shared::cta}; .b64", "[object], count:u32")?;
            check_arrival_count(check, 1, form.a)?;
            Ok(object(ObjectAction::Initialise { count: form.a }, &form))
        }
        "inval" => {
            let form = check.form("{shared|shared::cta}; .b64", "[object]")?;
            Ok(object(ObjectAction::Invalidate, &form))
        }
        "arrive" => arrive(check, false),
        "arrive_drop" => arrive(check, true),
        "test_wait" => test(check, "p:pred, [object], phase:u64", "p:pred, [object], phase:u32"),
        "try_wait" => test(
            check,
            "p:pred, [object], phase:u64, {hint:u32}",
            "p:pred, [object], phase:u32, {hint:u32}",
        ),
        "pending_count" => {
            check.take(".b64")?;
            check.shape("count, state")?;
            let (d, a) = (check.destination(0, Type::U32)?, check.source(1, Type::U64)?);
            Ok(Op::Asynchronous(Box::new(Asynchronous::PendingCount { d, a })))
        }
        _ => transactions(check),
    }
}

pub(super) fn object(action: ObjectAction, form: &Form) -> Op {
    let (space, address) = (form.space(), form.address);
    Op::Asynchronous(Box::new(Asynchronous::Barrier { action, space, address }))
}

/// The block's state space or the cluster's. Both are the same here, because a block is its whole cluster.
const ANY_SPACE: &str = "{shared::cluster}; {shared|shared::cta @!shared::cluster}";

/// Takes a memory order and its scope, which must be given together. Returns whether the order is the strict one (the
/// default).
fn order(check: &mut Check<'_, '_>, strict: Option<&'static str>) -> Result<bool> {
    let order = match strict {
        Some(strict) => check.modifiers.take_one_of(&[(strict, true), ("relaxed", false)]),
        None => check.modifiers.take_one_of(&[("relaxed", false)]),
    };
    let scope = check.modifiers.word("cta|cluster");
    let help = "write both, such as .release.cta, or neither";
    let both = order.is_some() == scope.is_some();
    check.reject_if(!both, "an order and a scope are given together", help)?;
    Ok(order.unwrap_or(strict.is_some()))
}

fn arrive(check: &mut Check<'_, '_>, drop: bool) -> Result<Op> {
    let mut form = check.take("{noComplete}; {expect_tx @!noComplete}")?;
    let (incomplete, expects) = (form.has("noComplete"), form.has("expect_tx"));
    check.take_more(&mut form, ANY_SPACE)?;
    let remote = form.has("shared::cluster");
    let clustered = check.modifiers.has("cluster");
    let releases = order(check, Some("release"))?;
    let message = "`.noComplete` only goes with `.release.cta`";
    let help = "write .noComplete.release.cta, or remove .noComplete";
    check.reject_if(incomplete && (remote || clustered || !releases), message, help)?;
    check.take_more(&mut form, ".b64")?;
    check.shape(match (incomplete, expects) {
        (true, _) => "state, [object], count",
        (_, true) => "state, [object], transactions",
        _ => "state, [object], {count}",
    })?;
    let written = check.written;
    let d = check.destination_or_sink(&written.operands[0], Type::U64, Width::Exact)?;
    if d.is_none() {
        check.require(80, (7, 1))?;
    }
    let message = "`.shared::cluster` returns no state";
    check.reject_operand_if(0, d.is_some() && remote, message, "write `_` in its place")?;
    form.address = check.address(1, form.space())?;
    let number = if check.count() == 3 { Some(check.source(2, Type::U32)?) } else { None };
    if number.is_some() && !incomplete && !expects {
        check.require(90, (7, 8))?;
    }
    let (count, expected) = if expects { (None, number) } else { (number, None) };
    if let Some(count) = count {
        check_arrival_count(check, 2, count)?;
    }
    let action = ObjectAction::Arrive { drop, incomplete, releases, count, expected, d };
    Ok(object(action, &form))
}

/// Returns an error if a constant count is not from 1 to 2²⁰ − 1. ptxas doesn't check it.
fn check_arrival_count(check: &Check<'_, '_>, index: usize, count: Operand) -> Result<()> {
    let Operand::Immediate(count) = count else { return Ok(()) };
    let (message, help) = (
        format!("{count} is not a valid number of arrivals"),
        format!("write one from 1 to {MAX_ARRIVALS}"),
    );
    check.reject_operand_if(index, count == 0 || count > MAX_ARRIVALS, message, help)
}

fn transactions(check: &mut Check<'_, '_>) -> Result<Op> {
    let mut form = check.take("expect_tx|complete_tx = an action")?;
    check.take_more(&mut form, ANY_SPACE)?;
    order(check, None)?;
    check.take_more(&mut form, ".b64")?;
    check.operands(&mut form, "[object], transactions:u32")?;
    let transactions = form.a;
    let action = match form.has("complete_tx") {
        true => ObjectAction::Complete { transactions },
        false => ObjectAction::Expect { transactions },
    };
    Ok(object(action, &form))
}

/// `test_wait`, and `try_wait`, which has an optional time limit. `state` and `parity` are the operands of the
/// two forms.
fn test(check: &mut Check<'_, '_>, state: &'static str, parity: &'static str) -> Result<Op> {
    let mut form = check.take("{parity}; {shared|shared::cta}")?;
    let acquires = order(check, Some("acquire"))?;
    check.take_more(&mut form, ".b64")?;
    let by_parity = form.has("parity");
    check.operands(&mut form, if by_parity { parity } else { state })?;
    let (d, phase) = (form.d, form.a);
    let far = by_parity && matches!(phase, Operand::Immediate(2..));
    let help = "write 0 for the first phase, 1 for the second, and so on";
    check.reject_operand_if(2, far, "a parity is 0 or 1", help)?;
    let hint = (check.count() == 4).then_some(form.b);
    Ok(object(ObjectAction::Test { acquires, parity: by_parity, phase, hint, d }, &form))
}
